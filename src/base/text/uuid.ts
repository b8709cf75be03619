import { randomBytes } from 'node:crypto';

/** A UUID of version 7 (RFC 9562 5.7): those of later milliseconds are greater. `now`: milliseconds since the epoch. */
export function uuidVersion7(now: number): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(now, 0, 6);
  randomBytes(10).copy(bytes, 6);
  return format(bytes, 7);
}

/** A UUID of version 8 (RFC 9562 5.8) of 16 bytes. */
export function uuidVersion8(bytes: Buffer): string {
  return format(bytes, 8);
}

function format(given: Buffer, version: number): string {
  const bytes = Buffer.from(given);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, '$1-$2-$3-$4-$5');
}
