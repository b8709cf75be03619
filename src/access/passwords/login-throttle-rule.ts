/** Milliseconds for which a failure counts. Also the longest wait, and the calm after which the next wait is one second again. */
export const throttleWindow = 15 * 60_000;

const firstWait = 1_000;

/** Of one account or address. Times are milliseconds since the epoch. */
export interface FailureRecord {
  /** When those that still count happened, oldest first; at most as many as are free. */
  readonly failures: readonly number[];
  /** Waits in a row. */
  readonly waits: number;
  /** No attempt is admitted before this time. */
  readonly blockedUntil: number;
}

export const noFailures: FailureRecord = { failures: [], waits: 0, blockedUntil: 0 };

/** Milliseconds. 0: now, also if the clock that imposed the wait was set back since. */
export function waitFor({ blockedUntil }: Pick<FailureRecord, 'blockedUntil'>, now: number): number {
  const wait = Math.max(0, blockedUntil - now);
  // Clocks of gateways differ, so a wait may be a little longer than the longest. A much longer one is of a clock that was set
  // back.
  return wait > 2 * throttleWindow ? 0 : Math.min(wait, throttleWindow);
}

/**
 * The first `free` failures within the window cost nothing, but the last of them imposes a wait. Each later failure doubles it.
 */
export function addFailure(record: FailureRecord, now: number, free: number): FailureRecord {
  const calm = waitFor(record, now) === 0 && Math.abs(now - record.blockedUntil) >= throttleWindow;
  const waits = calm ? 0 : record.waits;
  const failures = [...record.failures.filter((at) => Math.abs(at - now) < throttleWindow), now].slice(-free);
  if (waits === 0 && failures.length < free) return { failures, waits: 0, blockedUntil: 0 };
  const wait = Math.min(firstWait * 2 ** Math.min(waits, 30), throttleWindow);
  return { failures, waits: waits + 1, blockedUntil: now + wait };
}

/** Removes one failure, counted at `at`, that became a success, and its wait. */
export function takeBack(record: FailureRecord, counted: FailureRecord, at: number): FailureRecord {
  const index = record.failures.lastIndexOf(at);
  const failures = record.failures.filter((_, position) => position !== index);
  const imposed = counted.blockedUntil !== 0 && record.blockedUntil === counted.blockedUntil && record.waits === counted.waits;
  if (!imposed) return { ...record, failures };
  // The last of the earlier waits has ended, but the calm has only begun.
  return { failures, waits: record.waits - 1, blockedUntil: record.waits > 1 ? at : 0 };
}

/** From this time the record has no effect. */
export function forgetAt(record: FailureRecord): number {
  return Math.max(record.failures.at(-1) ?? 0, record.blockedUntil) + throttleWindow;
}
