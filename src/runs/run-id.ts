import { createHash, randomBytes } from 'node:crypto';

/** A UUID of version 7 (RFC 9562 5.7): ids of later milliseconds are greater. */
export function newRunId(now: number): string {
  return uuid(now, randomBytes(10));
}

/** Whether a run can have this id. Some texts are none that every store takes. */
export function isRunId(text: string): boolean {
  return /^[\w.:-]{1,1000}$/u.test(text);
}

/** The id of the run that a request with an Idempotency-Key starts: the same for each repetition of the request. */
export function runIdOfKey(request: { readonly caller: string; readonly automation: string; readonly key: string }): string {
  const { caller, automation, key } = request;
  const digest = createHash('sha256')
    .update(JSON.stringify(['run', caller, automation, key]))
    .digest();
  return formatted(digest.subarray(0, 16), 8);
}

function uuid(now: number, random: Buffer): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(now, 0, 6);
  random.copy(bytes, 6);
  return formatted(bytes, 7);
}

function formatted(given: Buffer, version: number): string {
  const bytes = Buffer.from(given);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, '$1-$2-$3-$4-$5');
}
