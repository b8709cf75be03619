const cookieName = 'orchestration_gateway_session';

interface SessionCookieOptions {
  readonly token: string;
  readonly lifetimeSeconds: number;
  /** True where the gateway is reached over TLS. */
  readonly secure: boolean;
}

/** A `Set-Cookie` value. Scripts cannot read it, and no other site's page can make the browser send it (RFC 6265bis). */
export function writeSessionCookie({ token, lifetimeSeconds, secure }: SessionCookieOptions): string {
  return `${cookieName}=${token}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

/** The `Set-Cookie` value that ends the session in the browser. */
export function clearSessionCookie({ secure }: { readonly secure: boolean }): string {
  return writeSessionCookie({ token: '', lifetimeSeconds: 0, secure });
}

/**
 * The session's token in a `Cookie` header: `undefined` where there is none, `'ambiguous'` where it is there twice, for then a
 * cookie planted from a sibling domain would compete with the real one.
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
