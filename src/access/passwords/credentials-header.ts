type AuthorizationHeader =
  | { readonly scheme: 'basic'; readonly name: string; readonly password: string }
  | { readonly scheme: 'bearer'; readonly token: string }
  | { readonly scheme: 'malformed' };

const malformed: AuthorizationHeader = { scheme: 'malformed' };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Basic (RFC 7617; UTF-8, strict base64) or Bearer (RFC 6750). Schemes are case-insensitive (RFC 9110 section 11.1). */
export function readAuthorization(header: string): AuthorizationHeader {
  const [, scheme = '', value = ''] = /^([A-Za-z]+) +([A-Za-z0-9._~+/-]+=*)$/u.exec(header) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { scheme: 'bearer', token: value };
  if (scheme.toLowerCase() !== 'basic') return malformed;
  const pair = decodeBase64(value);
  const colon = pair?.indexOf(':') ?? -1;
  if (pair === undefined || colon < 0) return malformed;
  return { scheme: 'basic', name: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

function decodeBase64(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Buffer skips characters that are not base64: encoding again shows whether it did.
  if (bytes.toString('base64') !== text) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
