import { CallScope } from '#outbound/call-scope.ts';
import type { CallRecord } from './call-record.ts';

/** In what circumstances a call is made; its entrance fills it in. */
export interface CallContext {
  readonly record: CallRecord;
  /** Milliseconds that the caller is willing to wait, where it said so. */
  readonly wait: number | undefined;
  /** Calls back once: when the reply is out (`complete`), or when the caller left before that. */
  whenEnded(callback: (complete: boolean) => void): void;
  /** Calls back where the gateway stops before the call ends; the result takes that back. */
  whenStopping(callback: () => void): () => void;
}

/** Opens the time of a call: `limit` in milliseconds, or less where the caller asked for less. It ends when the caller leaves, unless
 * its scope is detached from the caller. */
export function openScope(context: CallContext, limit: number): CallScope {
  const { record, wait = limit } = context;
  const setBy = wait < limit ? 'Prefer: wait' : undefined;
  const scope = new CallScope({ total: Math.min(limit, wait), setBy, clock: record.clock, attempts: record.attempts });
  record.note({ traffic: scope });
  context.whenEnded((complete) => {
    if (complete) scope.end();
    else scope.callerLeft();
  });
  return scope;
}
