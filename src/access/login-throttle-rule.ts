/**
 * Milliseconds for which a failure counts. Also the longest wait, and the time without failures after which the next wait is one
 * second again.
 */
export const throttleWindow = 15 * 60_000;

const firstWait = 1_000;

/** The failures of one account or address. Times are milliseconds since the epoch. */
export interface FailureRecord {
  /** When the failures that still count happened, oldest first; at most as many as are free. */
  readonly failures: readonly number[];
  /** How many waits in a row were imposed. */
  readonly waits: number;
  /** No attempt is admitted before this time. */
  readonly blockedUntil: number;
}

export const noFailures: FailureRecord = { failures: [], waits: 0, blockedUntil: 0 };

/** Milliseconds until the next attempt is admitted. 0: now, also if the clock that imposed the wait was set back since. */
export function waitFor({ blockedUntil }: Pick<FailureRecord, 'blockedUntil'>, now: number): number {
  const wait = Math.max(0, blockedUntil - now);
  // A wait may be a little longer than the longest one, because the clocks of gateways differ. A much longer one comes from a
  // clock that was set back.
  return wait > 2 * throttleWindow ? 0 : Math.min(wait, throttleWindow);
}

/**
 * The first `free` failures within the window cost nothing, except that the last of them imposes a wait. Each later failure
 * imposes a wait twice as long as the one before.
 */
export function addFailure(record: FailureRecord, now: number, free: number): FailureRecord {
  const calm = waitFor(record, now) === 0 && Math.abs(now - record.blockedUntil) >= throttleWindow;
  const waits = calm ? 0 : record.waits;
  const failures = [...record.failures.filter((at) => Math.abs(at - now) < throttleWindow), now].slice(-free);
  if (waits === 0 && failures.length < free) return { failures, waits: 0, blockedUntil: 0 };
  const wait = Math.min(firstWait * 2 ** Math.min(waits, 30), throttleWindow);
  return { failures, waits: waits + 1, blockedUntil: now + wait };
}

/** Removes one failure, counted at `at`, that turned out to be a success, and the wait that it imposed. */
export function takeBack(record: FailureRecord, counted: FailureRecord, at: number): FailureRecord {
  const index = record.failures.lastIndexOf(at);
  const failures = record.failures.filter((_, position) => position !== index);
  const imposed = counted.blockedUntil !== 0 && record.blockedUntil === counted.blockedUntil && record.waits === counted.waits;
  if (!imposed) return { ...record, failures };
  // If earlier waits remain, the last of them has ended, but the time without failures has only begun.
  return { failures, waits: record.waits - 1, blockedUntil: record.waits > 1 ? at : 0 };
}

/** The time from which no part of the record has any effect. */
export function forgetAt(record: FailureRecord): number {
  return Math.max(record.failures.at(-1) ?? 0, record.blockedUntil) + throttleWindow;
}
