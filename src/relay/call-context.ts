import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { AttemptWatcher } from '#outbound/attempt.ts';
import { CallScope, type Traffic } from '#outbound/call-scope.ts';
import type { RelayReply } from './relay-reply.ts';

/** For whom and in what circumstances a call is made: the front door (HTTP today) fills it in. */
export interface CallContext {
  readonly principal: Principal;
  readonly requestId: string;
  readonly trace: TraceContext;
  readonly clock: Clock;
  /** Who is told of each sending of the call, if anybody. */
  readonly attempts?: AttemptWatcher | undefined;
  /** Milliseconds the caller is willing to wait, where it said so. */
  readonly wait: number | undefined;
  /** The call has passed every check of its own and is about to begin. Throws 429 where its caller has no call left. */
  begins(): void;
  /** Calls back once: when the reply is out (`complete`), or when the caller has left before that. */
  whenOver(callback: (complete: boolean) => void): void;
  /** Calls back where the gateway ends before the call does; the result takes that back. */
  whenEnding(callback: () => void): () => void;
  /** Tells what is known of the call for log, metrics and the audit log. */
  note(facts: CallFacts): void;
  /** It came with an idempotency key. */
  readonly isIdempotent: boolean;
  /**
   * Puts the call as it is known by now on record, before it may change anything. Rejects with 503 where that cannot be done. Resolves
   * with the reply of an earlier call where that is the answer to this one (its idempotency key says so).
   */
  intend(): Promise<RelayReply | undefined>;
  /** The call on record is about to go on to another address. As `intend`. */
  goesOn(address: string): Promise<void>;
  /** Puts on record what came of the call: its reply, or what it failed with. */
  concluded(result: CallResult): Promise<void>;
}

export type CallResult = { readonly reply: RelayReply } | { readonly failure: unknown };

/** What is known of a call; what is noted later is added. */
export interface CallFacts {
  /** Who is asking, where the call is a login. */
  readonly principal?: Principal | undefined;
  readonly adapter?: string | undefined;
  readonly verb?: string | undefined;
  /** The address, or the orchestrator's path, as it is sent. */
  readonly address?: string | undefined;
  /** What decided that the call may be made, or may not. */
  readonly rule?: string | undefined;
  readonly upstreamStatus?: number | undefined;
  /** The request id of the call whose reply was answered once more. */
  readonly replays?: string | undefined;
  readonly traffic?: { readonly traffic: Traffic } | undefined;
}

/** Opens the time of a call: `total` in milliseconds, or less where the caller asked for less. It ends when the caller leaves,
 * unless it is carried on. */
export function openScope(context: CallContext, total: number): CallScope {
  context.begins();
  const { clock, attempts } = context;
  const { wait = total } = context;
  const setBy = wait < total ? 'Prefer: wait' : undefined;
  const scope = new CallScope({ total: Math.min(total, wait), setBy, clock, attempts });
  context.note({ traffic: scope });
  context.whenOver((complete) => {
    if (complete) scope.end();
    else scope.callerLeft();
  });
  return scope;
}
