import { argon2idAsync } from '@noble/hashes/argon2.js';

/** What the gateway's own `hash-password` takes: 19 MiB, two passes (OWASP). */
const memory = 19_456;
const passes = 2;

/** UTF-8 bytes that a login takes. */
const maxBytes = 1_024;

/** The argon2id hash of a password as the configuration has it (PHC string format). It takes a second or two. */
export async function hashOf(password: string): Promise<string> {
  if (new TextEncoder().encode(password).length > maxBytes) throw new Error(`A password has at most ${maxBytes} bytes.`);
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const key = await argon2idAsync(password, salt, { t: passes, m: memory, p: 1, dkLen: 32 });
  return `$argon2id$v=19$m=${memory},t=${passes},p=1$${base64(salt)}$${base64(key)}`;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('=', '');
}
