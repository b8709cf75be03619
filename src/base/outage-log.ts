import type { Log, LogFields } from './log.ts';

/** Milliseconds without a failure after which an outage counts as over. */
const steadyAtLeast = 5_000;
/** Each outage within this time after the last one needs twice as long, up to this limit. */
const maxSteady = 60_000;

/** Tells of the outages of a part that may fail and work in turns. */
interface OutageLog {
  failed(fields: LogFields): void;
  worked(): void;
}

/** Logs `began` once for an outage, and `ended`, with the number of failures, once the part has worked for some seconds without a failure. */
export function createOutageLog(
  log: Log,
  words: { readonly began: string; readonly ended: string },
  now: () => number = () => performance.now(),
): OutageLog {
  let failures = 0;
  let lastFailure = 0;
  let endedAt = -Infinity;
  let steady = steadyAtLeast;
  return {
    failed(fields) {
      lastFailure = now();
      failures += 1;
      if (failures > 1) return;
      steady = lastFailure - endedAt < maxSteady ? Math.min(2 * steady, maxSteady) : steadyAtLeast;
      log.error(words.began, fields);
    },
    worked() {
      if (failures === 0 || now() - lastFailure < steady) return;
      log.info(words.ended, { reason: failures === 1 ? '1 failure' : `${failures} failures` });
      failures = 0;
      endedAt = now();
    },
  };
}
