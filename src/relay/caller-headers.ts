import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { createProblemList } from '#json/forms/problem-list.ts';
import { pointerTo } from '#json/json-pointer.ts';

const headerLimit = 100;
const headerBytesLimit = 16_384;
const token = /^[!#$%&'*+.^_`|~\w-]+$/u;
const sendable = /^[\t\x20-\x7e]*$/u;
/** RFC 9110 7.6.1: those of the gateway's own connections. */
const connectionHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const metadataHeader = /^(?:metadata-flavor|metadata|x-aws-ec2-metadata-token.*)$/u;

/** The schema reports values that are no strings. */
export function headerProblems(headers: Readonly<Record<string, unknown>>): readonly RequestProblem[] {
  const entries = Object.entries(headers);
  const list = createProblemList();
  if (entries.length > headerLimit) list.add('/headers', `has ${entries.length} headers; at most ${headerLimit} are sent`);
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + (typeof value === 'string' ? value.length : 0), 0);
  if (bytes > headerBytesLimit)
    list.add('/headers', `has ${bytes} bytes of names and values; at most ${headerBytesLimit} are sent`);
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const detail = headerProblem(name, value, seen);
    seen.add(name.toLowerCase());
    if (detail !== undefined) list.add(pointerTo('/headers', name), detail);
  }
  return list.problems;
}

function headerProblem(name: string, value: unknown, seen: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase();
  if (!token.test(name)) return "is no header name (RFC 9110 5.1: letters, digits and !#$%&'*+-.^_`|~)";
  if (connectionHeaders.has(lower) || lower.startsWith('proxy-'))
    return 'belongs to the connection, and the gateway sets it; leave it out';
  if (seen.has(lower)) return 'is given twice with different case; give it once';
  if (typeof value === 'string' && !sendable.test(value)) return 'has a character that is not visible ASCII, space or tab';
  return undefined;
}

/** Only cloud metadata services require such a header. */
export function metadataRefusal(headers: Readonly<Record<string, string>>): GatewayError | undefined {
  const name = Object.keys(headers).find((candidate) => metadataHeader.test(candidate.toLowerCase()));
  if (name === undefined) return undefined;
  return new GatewayError(
    'destination-denied',
    `Only cloud metadata services require the header ${name}, and the gateway refuses calls to them; leave it out.`,
  );
}

/** In any case. */
export function findHeader(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  const found = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  return found === undefined ? undefined : headers[found];
}

const credential = /auth|cookie|credential|key|passw|secret|session|token/iu;

export function shownHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, credential.test(name) ? '***' : value]));
}
