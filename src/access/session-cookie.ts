/** The cookie that holds a session. */
export interface SessionCookie {
  readonly name: string;
  /** The `Set-Cookie` value. Scripts cannot read the cookie, and the browser sends it with no request from another site (RFC 6265bis). */
  write(session: { readonly token: string; readonly lifetimeSeconds: number }): string;
  /** The `Set-Cookie` value that deletes the session cookie in the browser. */
  clear(): string;
  /**
   * The token of the session in a `Cookie` header, or `undefined` if there is none. `'ambiguous'` if there are two: one may be a
   * cookie that a sibling domain planted.
   */
  read(header: string): { readonly token: string } | 'ambiguous' | undefined;
}

/**
 * `secure`: callers reach the gateway over TLS. The cookie is then Secure, and its prefix `__Host-` keeps sibling domains and plain HTTP
 * from setting it (RFC 6265bis section 4.1.3.2).
 */
export function createSessionCookie({ secure }: { readonly secure: boolean }): SessionCookie {
  const name = `${secure ? '__Host-' : ''}orchestration_gateway_session`;
  const write: SessionCookie['write'] = ({ token, lifetimeSeconds }) =>
    `${name}=${token}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return {
    name,
    write,
    clear: () => write({ token: '', lifetimeSeconds: 0 }),
    read(header) {
      const found = cookiesIn(header, name);
      if (found.length > 1) return 'ambiguous';
      const [token] = found;
      return token === undefined || token === '' ? undefined : { token };
    },
  };
}

/** The values of every cookie of that name in a `Cookie` header. */
export function cookiesIn(header: string, name: string): readonly string[] {
  return header.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals > 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : [];
  });
}
