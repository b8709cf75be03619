import type { OutboundCall } from './outbound-call.ts';

/** Called for each attempt of a call. A repeated query and each hop of a redirect are attempts of their own. */
export interface AttemptWatcher {
  /** The attempt begins: it is sent next, or waits for its connection. */
  begin(call: OutboundCall): Attempt;
}

/** Exactly one of `replied` and `failed` is called, once. */
export interface Attempt {
  /** Sent in place of the headers of the call: their `traceparent` names this attempt. */
  readonly headers: readonly string[];
  /** The reply arrived: complete, or its first 64 KiB. */
  replied(status: number): void;
  failed(failure: unknown): void;
}
