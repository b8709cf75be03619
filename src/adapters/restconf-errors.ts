import { type FarSideErrorText, readCutJsonErrors, readJsonErrors } from '#json/json-errors.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { readXmlErrors } from '#xml/xml-errors.ts';

const beginning = /^\s*(?:\{\s*"(?:ietf-restconf:)?errors"\s*:|(?:<\?[^>]*>\s*)?<errors[\s>])/u;

/**
 * Reads the first error from the error body of a reply, in JSON or XML (RESTCONF, RFC 8040, section 7.1, or NSO's legacy API).
 * NSO answers 406 in XML for any Accept, so the text decides if the media type does not. Undefined for any other body. Of a long
 * body only the first 64 KiB are read, which may contain neither tag nor message.
 */
export function readRestconfError(reply: FarSideReply): FarSideErrorText | undefined {
  if (reply.head.length === 0) return undefined;
  const text = reply.head.toString('utf8');
  if (reply.rest !== undefined) return beginning.test(text) ? (readCut(text) ?? {}) : undefined;
  const mediaType = headerValue(reply.headers, 'content-type') ?? '';
  return /\bxml\b|\+xml/iu.test(mediaType) || isXml(text) ? readXmlErrors(text) : readJsonErrors(text);
}

function readCut(text: string): FarSideErrorText | undefined {
  return isXml(text) ? readXmlErrors(text) : readCutJsonErrors(text);
}

function isXml(text: string): boolean {
  return text.trimStart().startsWith('<');
}
