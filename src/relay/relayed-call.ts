import type { CommitStamp } from '#adapters/commit-stamps.ts';
import type { CallerIdentity } from '#adapters/credentials/caller-identity.ts';
import type { CallerMapping } from '#adapters/credentials/credentials.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call/call-scope.ts';
import { type OutboundCall, type UpstreamReply, wholeReplyLimit } from '#outbound/call/outbound-call.ts';
import type { SentBody } from './body-mask.ts';

/** By the operationId of their routes. */
export type CallOperation = 'restAction' | 'restCall' | 'restQuery' | 'restRequest';

/** Sent only by `src/calls/`, after decision and intent. */
export interface RelayedCall {
  readonly operation: CallOperation;
  /** At the upstream. */
  readonly method: OutboundCall['method'];
  /** Milliseconds, to the last byte of the reply. */
  readonly timeLimit: number;
  /** What it sends, with placeholders; absent: nothing. */
  readonly body?: SentBody | undefined;
  /** The call leaves as its caller. */
  readonly callers?: CallerMapping | undefined;
  /** The commit gets a stamp. `hasOwnLabel`: a label of its caller stays. */
  readonly stamp?: { readonly hasOwnLabel: boolean } | undefined;
  /** By path rights, or the outbound policy. */
  decide(): RuleDecision;
  /** Keeps what sends the call open, across a reload, until the result is called once. */
  hold(): () => void;
  /** Rejects with a GatewayError or CallerLeft. */
  send(scope: CallScope, record: SendRecord): Promise<CallReply>;
}

/** Unrendered. */
export interface CallReply extends UpstreamReply {
  /** Where redirects led. */
  readonly address?: string | undefined;
  /** The whole body, if it is in memory despite `rest`. */
  readonly whole?: Buffer;
}

/** With a `rest` as from an upstream, so that the rendering is the same. */
export function inMemory(reply: Pick<CallReply, 'status' | 'headers' | 'address'>, body: Buffer): CallReply {
  const { status, headers, address } = reply;
  const known = { status, headers, address, discard: () => undefined };
  if (body.length <= wholeReplyLimit) return { ...known, head: body, rest: undefined };
  return { ...known, head: body.subarray(0, wholeReplyLimit), rest: once(body.subarray(wholeReplyLimit)), whole: body };
}

async function* once(chunk: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield chunk;
}

export type RuleDecision =
  | { readonly allowed: true; readonly rule: string | undefined }
  | { readonly allowed: false; readonly rule: string | undefined; readonly refusal: GatewayError };

export interface SendRecord {
  /** Set for `callers`. */
  readonly identity: CallerIdentity | undefined;
  /** Known once the intent is on record. */
  readonly stamp: CommitStamp | undefined;
  note(facts: { readonly upstreamStatus: number }): void;
  /** Resolves once the new address is on record; rejects with 503. */
  redirected(address: string): Promise<void>;
}

declare const checked: unique symbol;

/** Arguments without problems, valid by their schema. Only the function that looks for problems makes this type, so that no entrance skips it. */
export type Checked<T> = T & { readonly [checked]: true };
