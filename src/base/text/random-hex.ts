import { randomFillSync } from 'node:crypto';

/** Random bytes for later: one call of the generator costs the same for thousands of bytes as for a few. */
const pool = Buffer.alloc(4_096);
let used = pool.length;
/** As many zeros as the pool has digits. */
const zeros = '0'.repeat(2 * pool.length);

/** Lower-case hexadecimal digits of that many random bytes; at least one digit is not 0. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const digits = pool.toString('hex', used, used + bytes);
  used += bytes;
  return zeros.startsWith(digits) ? randomHex(bytes) : digits;
}
