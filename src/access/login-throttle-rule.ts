/** Failures count for 15 minutes; that is also the longest wait and the calm after which waits start again at a second. */
export const throttleWindow = 15 * 60_000;

const firstWait = 1_000;

/** What is kept of one account or address. Times are milliseconds since the epoch. */
export interface FailureRecord {
  /** When the failures happened that still count, oldest first; at most as many as are free. */
  readonly failures: readonly number[];
  /** How many waits have been imposed in a row. */
  readonly waits: number;
  /** Nobody may try before. */
  readonly blockedUntil: number;
}

export const noFailures: FailureRecord = { failures: [], waits: 0, blockedUntil: 0 };

/** Milliseconds until the next attempt may be made: 0 is now, also where the clock that imposed the wait was set back since. */
export function waitFor({ blockedUntil }: Pick<FailureRecord, 'blockedUntil'>, now: number): number {
  const wait = Math.max(0, blockedUntil - now);
  // Clocks of gateways differ a little.
  return wait > 2 * throttleWindow ? 0 : Math.min(wait, throttleWindow);
}

/** `free` failures within the window cost nothing; the last of them and each one after it imposes a wait, twice the one before. */
export function addFailure(record: FailureRecord, now: number, free: number): FailureRecord {
  const calm = waitFor(record, now) === 0 && Math.abs(now - record.blockedUntil) >= throttleWindow;
  const waits = calm ? 0 : record.waits;
  const failures = [...record.failures.filter((at) => Math.abs(at - now) < throttleWindow), now].slice(-free);
  if (waits === 0 && failures.length < free) return { failures, waits: 0, blockedUntil: 0 };
  const wait = Math.min(firstWait * 2 ** Math.min(waits, 30), throttleWindow);
  return { failures, waits: waits + 1, blockedUntil: now + wait };
}

/** Takes back one failure counted at `at` that turned out to be a success, with the wait it had imposed. */
export function takeBack(record: FailureRecord, counted: FailureRecord, at: number): FailureRecord {
  const index = record.failures.lastIndexOf(at);
  const failures = record.failures.filter((_, position) => position !== index);
  const imposed = counted.blockedUntil !== 0 && record.blockedUntil === counted.blockedUntil && record.waits === counted.waits;
  if (!imposed) return { ...record, failures };
  // Where earlier waits stand, the last of them is over, but its calm has not begun anew.
  return { failures, waits: record.waits - 1, blockedUntil: record.waits > 1 ? at : 0 };
}

/** When nothing of the record matters any more. */
export function forgetAt(record: FailureRecord): number {
  return Math.max(record.failures.at(-1) ?? 0, record.blockedUntil) + throttleWindow;
}
