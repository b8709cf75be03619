import { randomBytes } from 'node:crypto';

/** Lower-case hexadecimal digits of that many random bytes; at least one digit is not 0. */
export function randomHex(bytes: number): string {
  const digits = randomBytes(bytes).toString('hex');
  return /[^0]/u.test(digits) ? digits : randomHex(bytes);
}
