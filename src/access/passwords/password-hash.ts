import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';

/** argon2id (RFC 9106); `memory` in KiB. */
export interface PasswordHash extends HashParameters {
  readonly salt: Buffer;
  readonly tag: Buffer;
}

export interface HashParameters {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** UTF-8 bytes (docs/security.md, row 92). */
export const maxPasswordBytes = 1_024;

/** OWASP Password Storage Cheat Sheet; OWASP ASVS 5.0, appendix C. */
export const defaultHashParameters: HashParameters = { memory: 19_456, passes: 2, parallelism: 1 };

/** KiB, so 1 GiB: a mistyped hash must not use up the memory on each login. */
const maxMemory = 1_048_576;

const phc = /^\$argon2id\$v=19\$m=([1-9]\d{0,6}),t=([1-9]\d?),p=([1-9]\d?)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/u;

/** A PHC string with a new salt. Takes about 50 ms of one core. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const tag = await argon2id(password, { ...defaultHashParameters, salt, tagLength: 32 });
  return formatPasswordHash({ ...defaultHashParameters, salt, tag });
}

export function formatPasswordHash(hash: PasswordHash): string {
  const { memory, passes, parallelism, salt, tag } = hash;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

/**
 * Reads `$argon2id$v=19$m=…,t=…,p=…$salt$hash`: unpadded base64, salt 8–64 bytes, hash 16–64 bytes, at most 1 GiB and 99 passes.
 * Undefined for anything else, including other argon2 variants.
 */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const [, m, t, p, saltText, tagText] = phc.exec(text) ?? [];
  if (saltText === undefined || tagText === undefined) return undefined;
  const salt = Buffer.from(saltText, 'base64');
  const tag = Buffer.from(tagText, 'base64');
  // Only the canonical spelling: a decoder ignores surplus bits.
  if (unpadded(salt) !== saltText || unpadded(tag) !== tagText) return undefined;
  const hash = { memory: Number(m), passes: Number(t), parallelism: Number(p), salt, tag };
  return isComputable(hash) ? hash : undefined;
}

function isComputable({ memory, parallelism, salt, tag }: PasswordHash): boolean {
  const memoryFits = memory >= 8 * parallelism && memory <= maxMemory;
  return memoryFits && salt.length >= 8 && salt.length <= 64 && tag.length >= 16 && tag.length <= 64;
}

/** Compares in constant time. */
export async function matchesPassword(password: string, hash: PasswordHash): Promise<boolean> {
  const tag = await argon2id(password, { ...hash, tagLength: hash.tag.length });
  return timingSafeEqual(tag, hash.tag);
}

interface Argon2idOptions extends HashParameters {
  readonly salt: Buffer;
  readonly tagLength: number;
}

function argon2id(password: string, { memory, passes, parallelism, salt, tagLength }: Argon2idOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  argon2(
    'argon2id',
    { message: Buffer.from(password, 'utf8'), nonce: salt, memory, passes, parallelism, tagLength },
    (error, tag) => {
      if (error === null) resolve(tag);
      else reject(error);
    },
  );
  return promise;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/u, '');
}
