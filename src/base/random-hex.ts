import { randomFillSync } from 'node:crypto';

/** A call of the generator costs as much for thousands of bytes as for a few. */
const pool = Buffer.alloc(4_096);
let used = pool.length;
/** As many as a pool has digits. */
const zeros = '0'.repeat(2 * pool.length);

/** Lower-case hexadecimal digits of that many random bytes, of which one at least is not 0. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const digits = pool.toString('hex', used, used + bytes);
  used += bytes;
  return zeros.startsWith(digits) ? randomHex(bytes) : digits;
}
