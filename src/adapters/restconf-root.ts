import type { FarSideReply } from '#outbound/outbound-call.ts';
import { xmlRootName } from '#xml/xml-root.ts';
import type { Ask, Asked } from './adapter-kind.ts';

/**
 * Asks for the root of RESTCONF (RFC 8040, section 3.3). Only its answer shows that the base address is right: below a wrong address a
 * RESTCONF server sends errors in RESTCONF too.
 */
export async function askForRoot(ask: Ask): Promise<Asked & { readonly fault?: string }> {
  const asked = await ask('restconf', 'application/yang-data+json');
  return isRoot(asked.reply) ? asked : { ...asked, fault: likelyCause(asked.reply.status) };
}

function isRoot({ status, head }: FarSideReply): boolean {
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
