/** The gateway writes them (RFC 9112, RFC 9110 section 7.6.1). */
const framing = ['connection', 'content-length', 'content-encoding', 'expect', 'host', 'http2-settings'];
const hopByHop = ['keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
const framingHeaders = new Set([...framing, ...hopByHop]);

/** `more`: further headers, in lower case, that the gateway itself sets there. */
export function headerNameFault(name: string, more: ReadonlySet<string>): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}$/u.test(name)) return 'is no header name (RFC 9110 section 5.1)';
  const lower = name.toLowerCase();
  const isReserved = framingHeaders.has(lower) || more.has(lower) || lower.startsWith('proxy-');
  return isReserved ? 'is a header that the gateway itself sets or forwards' : undefined;
}
