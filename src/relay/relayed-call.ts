import type { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import type { RelayReply } from './relay-reply.ts';

/** The operations that send something, by the operationId of their routes. */
export type CallOperation = 'restAction' | 'restCall' | 'restQuery' | 'restRequest';

/** A call that can be judged and sent. `src/calls/` alone sends it, after the decision and the record. */
export interface RelayedCall {
  readonly operation: CallOperation;
  /** The method at the far side. */
  readonly method: OutboundCall['method'];
  /** Milliseconds from the decision to the last byte of the reply. */
  readonly timeLimit: number;
  /** What the operator's rules for its destination say: the path rights of the adapter instance, or the outbound policy. */
  decide(): RuleDecision;
  /** Keeps what it is sent with open until the result is called, once: a reload may replace that. */
  hold(): () => void;
  /** Resolves to the rendered reply. Rejects with a GatewayError or CallerLeft. */
  send(scope: CallScope, record: SendRecord): Promise<RelayReply>;
}

/** `rule` is the rule that decided, where one did. */
export type RuleDecision =
  | { readonly allowed: true; readonly rule: string | undefined }
  | { readonly allowed: false; readonly rule: string | undefined; readonly refusal: GatewayError };

/** What the record of a call learns while the call is sent. */
export interface SendRecord {
  note(facts: { readonly upstreamStatus: number }): void;
  /** A redirect leads the call to another address. Resolves once that is on record; rejects with 503 where it cannot be. */
  redirected(address: string): Promise<void>;
}
