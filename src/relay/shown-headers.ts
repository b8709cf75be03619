const credential = /auth|cookie|credential|key|passw|secret|session|token/iu;

/** The headers, with `***` in place of what may be a credential. */
export function shownHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, credential.test(name) ? '***' : value]));
}
