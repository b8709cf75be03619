/** A name of 128 random bits. `crypto.randomUUID` is there over TLS and on localhost alone. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
