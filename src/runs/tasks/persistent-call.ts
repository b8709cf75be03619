import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '#base/error-codes.ts';
import type { Entered } from './call-entrance.ts';

/** Milliseconds between two attempts to put a call on record: the first pause, and the longest. */
const firstPause = 250;
const longestPause = 5_000;
/** Milliseconds after which a call in use, or one over the rate limit, is asked for again at the earliest. */
const shortestWait = 250;

/** So often the gateway enters a call on which it fails itself, and which does not leave. */
const mostFaults = 3;
/** Nothing of a call with such a failure has left, and the store may be back later. */
const storeAway: ReadonlySet<ErrorCode> = new Set(['audit-unavailable', 'store-unavailable']);
/** The gateway itself says that the call may be made, or asked for, later. */
const later: ReadonlySet<ErrorCode> = new Set(['too-many-requests', 'idempotency-key-in-use', 'overloaded']);

interface Persistence {
  readonly signal: AbortSignal;
  /** False: the call is not entered again until it is known whether this gateway still has the run. */
  readonly holds: () => boolean;
}

/**
 * Enters until the call is made or refused for good: neither a store that is away nor the rate limit fails a run. Where the gateway itself
 * fails on a call that has not left, it tries again as often as for any other work.
 */
export async function persistently(enter: () => Promise<Entered>, { signal, holds }: Persistence): Promise<Entered> {
  let faults = 0;
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    const entered = await enter();
    const wait = entered.kind === 'failed' ? waitAfter(entered, pause) : undefined;
    if (isFault(entered)) faults += 1;
    if (wait === undefined || faults === mostFaults) return entered;
    let mayEnter = await waited(wait, signal);
    while (mayEnter && !holds()) mayEnter = await waited(shortestWait, signal);
    if (mayEnter) continue;
    // Of a call in use another gateway knows what became of it.
    const left = entered.kind === 'failed' && entered.failure.code === 'idempotency-key-in-use';
    return { kind: 'aborted', left, isSettled: false, requestId: entered.requestId };
  }
}

function isFault(entered: Entered): boolean {
  return entered.kind === 'failed' && entered.failure.code === 'internal-error';
}

function waitAfter({ failure, after, left }: Extract<Entered, { readonly kind: 'failed' }>, pause: number): number | undefined {
  if (left) return undefined;
  if (storeAway.has(failure.code) || failure.code === 'internal-error') return pause;
  return later.has(failure.code) ? Math.max(after, shortestWait) : undefined;
}

/** False where the signal ended the wait. */
async function waited(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
