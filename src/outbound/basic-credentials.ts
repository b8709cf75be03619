/** The value of an `Authorization` header for Basic authentication, in UTF-8 (RFC 7617 2.1). */
export function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
