import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';

/** The X-Upstream-* headers (name, value, name, value …). The far side's own headers are never the gateway's. */
export function upstreamHeaders(reply: FarSideReply, base64 = false): string[] {
  const headers = ['X-Upstream-Status', String(reply.status)];
  for (const [name, source] of namedHeaders) {
    const value = headerValue(reply.headers, source);
    if (value !== undefined) headers.push(name, value);
  }
  if (base64) headers.push('X-Upstream-Body-Encoding', 'base64');
  return headers;
}

const namedHeaders = [
  ['X-Upstream-Content-Type', 'content-type'],
  ['X-Upstream-ETag', 'etag'],
  ['X-Upstream-Location', 'location'],
] as const;

/** Converts name, value, name, value … into an object. */
export function headersByName(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) found[headers[at] ?? ''] = headers[at + 1] ?? '';
  return found;
}

/** The far side's headers for a caller: names in lower case, repeated headers joined, `set-cookie` always an array. */
export function headersForCaller({ headers }: FarSideReply): Readonly<Record<string, string | readonly string[]>> {
  // Without a prototype, since a header may be called __proto__.
  const shown: Record<string, string | readonly string[]> = Object.create(null) as Record<string, never>;
  for (const [name, value] of Object.entries(headers))
    shown[name] = name === 'set-cookie' ? [value ?? []].flat() : (headerValue(headers, name) ?? '');
  return shown;
}
