/** The effect of an audit entry on the idempotency key of its call, in the same transaction. */
export type KeyEffect =
  | { readonly kind: 'take'; readonly id: string; readonly fingerprint: string }
  /** The call has ended. `reply` is sealed; undefined if it is not stored. */
  | { readonly kind: 'end'; readonly state: 'done' | 'unknown'; readonly reply?: string }
  /** Nothing left the gateway, so the key is free again. */
  | { readonly kind: 'release' };

/** A KeyEffect with its call. `at` is in milliseconds since the epoch. */
export type CallKeyEffect = KeyEffect & { readonly chain: string; readonly call: number; readonly at: number };

/** Other calls have these keys. The transaction wrote nothing. */
export class KeysTaken extends Error {
  /** The calls that need the keys. */
  readonly calls: ReadonlySet<number>;

  constructor(calls: ReadonlySet<number>) {
    super('idempotency keys are taken');
    this.name = 'KeysTaken';
    this.calls = calls;
  }
}
