import type { Clock } from '#base/clock.ts';
import { inTime } from '#base/in-time.ts';
import type { RunCounts } from './run-queries.ts';

/** Milliseconds for which one count is the answer, so that no one who may ask loads the store. */
const keptFor = 5_000;
/** Milliseconds for which the last count is the answer while the store gives no other one. */
const staleAfter = 60_000;
/** Milliseconds that an answer waits for the store. */
const patience = 1_000;

/** The runs of all gateways on the store, as monitoring asks for them. Undefined: the store does not tell at present. Never rejects. */
export type RunFigures = () => Promise<RunCounts | undefined>;

/** `counts` is asked at most once in five seconds, and never twice at the same time. */
export function createRunFigures(options: { readonly counts: () => Promise<RunCounts>; readonly clock: Clock }): RunFigures {
  const { counts, clock } = options;
  let last: { readonly counts: RunCounts; readonly at: number } | undefined;
  let asked = -Infinity;
  let asking: Promise<void> | undefined;
  const ask = async (at: number): Promise<void> => {
    asked = at;
    try {
      last = { counts: await counts(), at };
    } catch {
      // The store is away, as its own log says.
    } finally {
      asking = undefined;
    }
  };
  return async () => {
    const now = clock.monotonic();
    if (now - asked >= keptFor) asking ??= ask(now);
    if (asking !== undefined) await inTime(asking, patience, () => {});
    return last !== undefined && clock.monotonic() - last.at < staleAfter ? last.counts : undefined;
  };
}
