import { readJsonErrors } from '#json/json-errors.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { readXmlErrors } from '#xml/xml-errors.ts';

/** The first error of a RESTCONF (RFC 8040 7.1) or legacy NSO error body. */
interface RestconfError {
  readonly tag?: string;
  readonly message?: string;
}

const beginning = /^\s*(?:\{\s*"(?:ietf-restconf:)?errors"\s*:|(?:<\?[^>]*>\s*)?<errors[\s>])/u;

/**
 * Reads the error body of a reply, in JSON or XML: NSO answers 406 in XML whatever was asked, so the text decides where the
 * media type does not. Undefined where the body is no such thing; without tag and message where it is too long to be read.
 */
export function readRestconfError(reply: FarSideReply): RestconfError | undefined {
  if (reply.head.length === 0) return undefined;
  const text = reply.head.toString('utf8');
  // Only its beginning is here: what it is can be seen, what it says cannot.
  if (reply.rest !== undefined) return beginning.test(text) ? {} : undefined;
  const mediaType = headerValue(reply.headers, 'content-type') ?? '';
  return /\bxml\b|\+xml/iu.test(mediaType) || text.trimStart().startsWith('<') ? readXmlErrors(text) : readJsonErrors(text);
}
