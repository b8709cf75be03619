export type SessionCookie = ReturnType<typeof createSessionCookie>;

/**
 * `secure`: over TLS. The cookie is then Secure, and its prefix `__Host-` keeps sibling domains and plain HTTP from setting it (RFC
 * 6265bis section 4.1.3.2).
 */
export function createSessionCookie({ secure }: { readonly secure: boolean }) {
  const name = `${secure ? '__Host-' : ''}orchestration_gateway_session`;
  const write = ({ token, lifetimeSeconds }: { readonly token: string; readonly lifetimeSeconds: number }): string =>
    `${name}=${token}; Path=/; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return {
    name,
    /** The `Set-Cookie` value. Scripts cannot read the cookie; no request from another site has it (RFC 6265bis). */
    write,
    /** The `Set-Cookie` value that deletes the cookie. */
    clear: () => write({ token: '', lifetimeSeconds: 0 }),
    /** Of a `Cookie` header. `'ambiguous'`: there are two, of which a sibling domain may have planted one. */
    read(header: string): { readonly token: string } | 'ambiguous' | undefined {
      const [token, ...more] = cookiesIn(header, name);
      if (more.length > 0) return 'ambiguous';
      return token ? { token } : undefined;
    },
  };
}

export function cookiesIn(header: string, name: string): readonly string[] {
  return header.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals > 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : [];
  });
}
