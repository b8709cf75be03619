import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

/** A request that came with an Idempotency-Key, as far as the store may know it. */
export interface IdempotentRequest {
  /** Of the caller, the route and the key together. */
  readonly id: string;
  /** Of the payload as well: the same for the same request alone. */
  readonly fingerprint: string;
  /** What its reply is sealed with. It is made of the whole request and is never kept: who reads the store learns no reply. */
  readonly secret: Buffer;
}

/** `payload`: the body as it came, and whatever else the far side would get of the caller's. */
export function idempotentRequest(options: {
  /** The `id` of the principal: its user name may not be unique. */
  readonly caller: string;
  /** With the name of the adapter instance, where there is one. */
  readonly route: string;
  readonly key: string;
  readonly payload: readonly (Buffer | string)[];
}): IdempotentRequest {
  const { caller, route, key, payload } = options;
  const id = digest([caller, route, key]);
  const secret = digest([id, key, ...payload]);
  return { id: id.toString('base64url'), fingerprint: derived(secret, 'fingerprint').toString('base64url'), secret };
}

/** SHA-256 of parts that cannot run into each other. */
function digest(parts: readonly (Buffer | string)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest();
}

function derived(secret: Buffer, purpose: string): Buffer {
  return createHmac('sha256', secret).update(purpose).digest();
}

/** Bytes (NIST SP 800-38D). */
const nonceLength = 12;
const tagLength = 16;

/** AES-256-GCM under a key of the request's own, base64. */
export function sealed({ secret }: IdempotentRequest, text: string): string {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', derived(secret, 'reply'), nonce, { authTagLength: tagLength });
  const parts = [nonce, cipher.update(text, 'utf8'), cipher.final()];
  return Buffer.concat([...parts, cipher.getAuthTag()]).toString('base64');
}

/** Throws where it was not sealed for this request, or was changed since. */
export function unsealed({ secret }: IdempotentRequest, seal: string): string {
  const bytes = Buffer.from(seal, 'base64');
  const end = bytes.length - tagLength;
  const decipher = createDecipheriv('aes-256-gcm', derived(secret, 'reply'), bytes.subarray(0, nonceLength), {
    authTagLength: tagLength,
  });
  decipher.setAuthTag(bytes.subarray(end));
  return Buffer.concat([decipher.update(bytes.subarray(nonceLength, end)), decipher.final()]).toString('utf8');
}
