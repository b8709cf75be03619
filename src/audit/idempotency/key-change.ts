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
