import { readCutJsonErrors, readJsonErrors, type UpstreamErrorText } from '#json/json-errors.ts';
import { headerValue, type UpstreamReply } from '#outbound/call/outbound-call.ts';
import { xmlRootName } from '#xml/xml-document.ts';
import { readXmlErrors } from '#xml/xml-errors.ts';
import type { Ask, Asked } from './adapter-kind.ts';

const beginning = /^\s*(?:\{\s*"(?:ietf-restconf:)?errors"\s*:|(?:<\?[^>]*>\s*)?<errors[\s>])/u;

/** The first RESTCONF error (RFC 8040, section 7.1, or NSO's legacy API). NSO answers 406 in XML for any Accept, so the text counts too. Of the first 64 KiB alone, which may lack tag and message. Undefined for other bodies. */
export function readRestconfError(reply: UpstreamReply): UpstreamErrorText | undefined {
  if (reply.head.length === 0) return undefined;
  const text = reply.head.toString('utf8');
  if (reply.rest !== undefined)
    return beginning.test(text) ? ((isXml(text) ? readXmlErrors(text) : readCutJsonErrors(text)) ?? {}) : undefined;
  const mediaType = headerValue(reply.headers, 'content-type') ?? '';
  return /\bxml\b|\+xml/iu.test(mediaType) || isXml(text) ? readXmlErrors(text) : readJsonErrors(text);
}

/** A sentence: the status of a reply, with what its RESTCONF error says. */
export function saidBy({ status }: UpstreamReply, error: UpstreamErrorText | undefined): string {
  const said = [status, error?.tag, error?.message].filter((part) => part !== undefined).join(': ');
  return `The orchestrator answered ${said.replace(/\.$/u, '')}.`;
}

function isXml(text: string): boolean {
  return text.trimStart().startsWith('<');
}

/** RFC 8040, section 3.3. Only this answer shows that the base address is right: RESTCONF servers answer below wrong ones in RESTCONF too. */
export async function askForRoot(ask: Ask): Promise<Asked & { readonly fault?: string }> {
  const asked = await ask('restconf', 'application/yang-data+json');
  return isRoot(asked.reply) ? asked : { ...asked, fault: likelyCause(asked.reply.status) };
}

function isRoot({ status, head }: UpstreamReply): boolean {
  if (status !== 200) return false;
  const text = head.toString('utf8');
  try {
    const parsed = JSON.parse(text) as unknown;
    return typeof parsed === 'object' && parsed !== null && 'ietf-restconf:restconf' in parsed;
  } catch {
    return /^(?:[^:]+:)?restconf$/u.test(xmlRootName(text) ?? '');
  }
}

const wrongAddress =
  'url must be the address before restconf/. The usual causes are a path too many in url, such as restconf itself, and a server without RESTCONF.';

function likelyCause(status: number): string {
  if (status === 403) {
    return 'the account of this adapter instance (auth) may not read the root of RESTCONF, or a proxy in front of the server refuses the gateway.';
  }
  if (status >= 300 && status < 400) return 'the gateway follows no redirect, so url must be the address to which it leads.';
  if (status >= 500) return 'the server itself or a proxy in front of it has a fault.';
  if (status < 300) return `the reply is not the root of RESTCONF: ${wrongAddress}`;
  return `this is not the root of RESTCONF: ${wrongAddress}`;
}
