import { headerValue, type UpstreamReply } from '#outbound/call/outbound-call.ts';

/** Name, value, name, value …. The upstream's own headers are never the gateway's. */
export function upstreamHeaders(reply: UpstreamReply, base64 = false): string[] {
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

export function headersByName(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) found[headers[at] ?? ''] = headers[at + 1] ?? '';
  return found;
}

/** In lower case, repeated ones joined, `set-cookie` an array. */
export function headersForCaller({ headers }: UpstreamReply): Readonly<Record<string, string | readonly string[]>> {
  // A header may be called __proto__.
  const shown: Record<string, string | readonly string[]> = Object.create(null) as Record<string, never>;
  for (const [name, value] of Object.entries(headers))
    shown[name] = name === 'set-cookie' ? [value ?? []].flat() : (headerValue(headers, name) ?? '');
  return shown;
}
