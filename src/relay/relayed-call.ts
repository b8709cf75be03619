import type { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import { type FarSideReply, type OutboundCall, wholeReplyLimit } from '#outbound/outbound-call.ts';

/** The operations that send a call, by the operationId of their routes. */
export type CallOperation = 'restAction' | 'restCall' | 'restQuery' | 'restRequest';

/** A call that can be decided on and sent. Only `src/calls/` sends it, after the decision and the intent. */
export interface RelayedCall {
  readonly operation: CallOperation;
  /** The method at the far side. */
  readonly method: OutboundCall['method'];
  /** Milliseconds from the decision to the last byte of the reply. */
  readonly timeLimit: number;
  /** The decision by the operator's rules: the path rights of the adapter instance, or the outbound policy. */
  decide(): RuleDecision;
  /** Keeps the parts that send the call open until the result is called, once: a reload may replace them. */
  hold(): () => void;
  /** Resolves to the far side's reply. Rejects with a GatewayError or CallerLeft. */
  send(scope: CallScope, record: SendRecord): Promise<CallReply>;
}

/** The far side's reply to a call, unrendered. */
export interface CallReply extends FarSideReply {
  /** Where redirects led the call, if they did. */
  readonly address?: string | undefined;
  /** The whole body, where all of it is in memory although it has a `rest`. */
  readonly whole?: Buffer;
}

/** A reply whose body is in memory. It has a `rest` as if it came from the far side, so that it is rendered in the same way. */
export function inMemory(reply: Pick<CallReply, 'status' | 'headers' | 'address'>, body: Buffer): CallReply {
  const { status, headers, address } = reply;
  const known = { status, headers, address, discard: () => undefined };
  if (body.length <= wholeReplyLimit) return { ...known, head: body, rest: undefined };
  return { ...known, head: body.subarray(0, wholeReplyLimit), rest: once(body.subarray(wholeReplyLimit)), whole: body };
}

async function* once(chunk: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield chunk;
}

/** `rule` is the rule that decided, where one did. */
export type RuleDecision =
  | { readonly allowed: true; readonly rule: string | undefined }
  | { readonly allowed: false; readonly rule: string | undefined; readonly refusal: GatewayError };

/** The part of a call's record that is written while the call is sent. */
export interface SendRecord {
  note(facts: { readonly upstreamStatus: number }): void;
  /** Records that a redirect leads the call to another address. Resolves once that is on record; rejects with 503 where it cannot be. */
  redirected(address: string): Promise<void>;
}
