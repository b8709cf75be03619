/** What an entry of the audit log does to the idempotency key of its call, in the same transaction. */
export type KeyEffect =
  | { readonly kind: 'take'; readonly id: string; readonly fingerprint: string }
  /** `reply` is sealed; absent where it is not kept. */
  | { readonly kind: 'conclude'; readonly state: 'done' | 'unknown'; readonly reply?: string }
  /** Nothing left the gateway: the key may come again as if it had never come. */
  | { readonly kind: 'release' };

/** A KeyEffect of the call that it belongs to; `at` in milliseconds since the epoch. */
export type CallKeyEffect = KeyEffect & { readonly chain: string; readonly call: number; readonly at: number };

/** Keys that others hold: nothing of the transaction was written. */
export class KeysTaken extends Error {
  /** The calls that came with them. */
  readonly calls: ReadonlySet<number>;

  constructor(calls: ReadonlySet<number>) {
    super('idempotency keys are taken');
    this.name = 'KeysTaken';
    this.calls = calls;
  }
}
