import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { AttemptWatcher } from '#outbound/attempt.ts';
import { CallerLeft, CallScope } from '#outbound/call-scope.ts';

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
  /** Tells what is known of the call for log and metrics. */
  note(fact: { readonly adapter?: string; readonly upstreamStatus?: number }): void;
}

/** Opens the time of a call: `total` in milliseconds, or less where the caller asked for less. It ends when the caller leaves. */
export function openScope(context: CallContext, total: number): CallScope {
  context.begins();
  const { clock, attempts } = context;
  const scope = new CallScope({ total: Math.min(total, context.wait ?? total), clock, attempts });
  context.whenOver((complete) => {
    if (!complete) scope.end(new CallerLeft());
    scope.finish();
  });
  return scope;
}
