import type { OutboundCall } from './outbound-call.ts';

/** Sees each sending of a call: a query that is repeated and each hop of a redirect are attempts of their own. */
export interface AttemptWatcher {
  /** The call is about to leave, or to wait for its connection. */
  begin(call: OutboundCall): Attempt;
}

/** One of `replied` and `failed` is called, once. */
export interface Attempt {
  /** The headers to send in place of the call's: their `traceparent` names this attempt. */
  readonly headers: readonly string[];
  /** The reply is there, whole or its first 64 KiB. */
  replied(status: number): void;
  failed(failure: unknown): void;
}
