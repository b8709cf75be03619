const cookieName = 'orchestration_gateway_session';

interface SessionCookieOptions {
  readonly token: string;
  readonly lifetimeSeconds: number;
  /** True if callers reach the gateway over TLS. */
  readonly secure: boolean;
}

/**
 * The `Set-Cookie` value. Scripts cannot read the cookie, and the browser sends it with no request from another site (RFC
 * 6265bis).
 */
export function writeSessionCookie({ token, lifetimeSeconds, secure }: SessionCookieOptions): string {
  return `${cookieName}=${token}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

/** The `Set-Cookie` value that deletes the session cookie in the browser. */
export function clearSessionCookie({ secure }: { readonly secure: boolean }): string {
  return writeSessionCookie({ token: '', lifetimeSeconds: 0, secure });
}

/**
 * The token of the session in a `Cookie` header, or `undefined` if there is none. `'ambiguous'` if there are two: one may be a
 * cookie that a sibling domain planted.
 */
export function readSessionCookie(header: string): { readonly token: string } | 'ambiguous' | undefined {
  const found: string[] = [];
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === cookieName) found.push(pair.slice(equals + 1).trim());
  }
  if (found.length > 1) return 'ambiguous';
  const [token] = found;
  return token === undefined || token === '' ? undefined : { token };
}
