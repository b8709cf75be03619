import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

/** What the store may know of a request with an Idempotency-Key. */
export interface IdempotentRequest {
  /** A digest of the principal, the route and the key. */
  readonly id: string;
  /** A digest that also covers the payload: two requests have the same fingerprint only if they are the same. */
  readonly fingerprint: string;
  /**
   * The key that seals the reply. It is derived from the whole request and never stored, so a reader of the store learns no
   * reply.
   */
  readonly secret: Buffer;
  /** True: an earlier call is not expected, so it is looked up only where the key turns out to be taken. */
  readonly isNew?: boolean;
  /** True: the store may have lost an earlier call, so one that may change something is not made. */
  readonly isDoubtful?: boolean;
}

/** `payload`: the body as received, and everything else of the request that goes to the upstream. */
export function idempotentRequest(options: {
  /** The `id` of the principal: its user name may not be unique. */
  readonly caller: string;
  /** Includes the name of the adapter instance, if there is one. */
  readonly route: string;
  readonly key: string;
  readonly payload: readonly (Buffer | string)[];
}): IdempotentRequest {
  const { caller, route, key, payload } = options;
  const id = digest([caller, route, key]);
  const secret = digest([id, key, ...payload]);
  return { id: id.toString('base64url'), fingerprint: derived(secret, 'fingerprint').toString('base64url'), secret };
}

/** SHA-256 of the parts, with the length of each, so that different parts never give the same input. */
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

/** AES-256-GCM with a key derived from the request, in base64. */
export function sealed({ secret }: IdempotentRequest, content: Buffer): string {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', derived(secret, 'reply'), nonce, { authTagLength: tagLength });
  const parts = [nonce, cipher.update(content), cipher.final()];
  return Buffer.concat([...parts, cipher.getAuthTag()]).toString('base64');
}

/** Throws if the content was sealed for another request, or changed since. */
export function unsealed({ secret }: IdempotentRequest, seal: string): Buffer {
  const bytes = Buffer.from(seal, 'base64');
  const end = bytes.length - tagLength;
  const decipher = createDecipheriv('aes-256-gcm', derived(secret, 'reply'), bytes.subarray(0, nonceLength), {
    authTagLength: tagLength,
  });
  decipher.setAuthTag(bytes.subarray(end));
  return Buffer.concat([decipher.update(bytes.subarray(nonceLength, end)), decipher.final()]);
}

/** The change of an audit entry to the idempotency key of its call, in the same transaction. */
export type KeyChange =
  /** `isNew`: no earlier call is expected to have the key, not even one whose key has passed its time. */
  | { readonly kind: 'take'; readonly id: string; readonly fingerprint: string; readonly isNew?: boolean }
  /** The call has ended. `reply` is sealed; undefined if it is not stored. */
  | { readonly kind: 'end'; readonly state: 'done' | 'unknown'; readonly reply?: string }
  /** Nothing left the gateway, so the key is free again. */
  | { readonly kind: 'release' };

/** A KeyChange with its call. `at` is in milliseconds since the epoch. */
export type CallKeyChange = KeyChange & { readonly chain: string; readonly call: number; readonly at: number };

/** Some intents of a batch may not be written. The transaction wrote nothing. */
export class IntentsRefused extends Error {
  /** The calls of these intents. */
  readonly calls: ReadonlySet<number>;

  constructor(message: string, calls: ReadonlySet<number>) {
    super(message);
    this.name = 'IntentsRefused';
    this.calls = calls;
  }
}

/** Other calls have these idempotency keys. */
export class KeysTaken extends IntentsRefused {
  constructor(calls: ReadonlySet<number>) {
    super('idempotency keys are taken', calls);
    this.name = 'KeysTaken';
  }
}

/** The permits of these calls cannot be used any more. */
export class PermitsLost extends IntentsRefused {
  constructor(calls: ReadonlySet<number>) {
    super('permits cannot be used', calls);
    this.name = 'PermitsLost';
  }
}
