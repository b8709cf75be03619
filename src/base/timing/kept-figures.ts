import type { Clock } from '../clock.ts';
import { inTime } from './in-time.ts';

/** Milliseconds for which one count is the answer, so that no one who may ask loads the store. */
const keptFor = 5_000;
/** Milliseconds for which the last count is the answer while the store gives no other one. */
const staleAfter = 60_000;
/** Milliseconds that an answer waits for the store. */
const patience = 1_000;

/** Figures of the store, as monitoring asks for them. Undefined: the store does not tell at present. Never rejects. */
export type KeptFigures<T> = () => Promise<T | undefined>;

/** `ask` is called at most once in five seconds, and never twice at the same time. */
export function createKeptFigures<T>(options: { readonly ask: () => Promise<T>; readonly clock: Clock }): KeptFigures<T> {
  const { ask, clock } = options;
  let last: { readonly figures: T; readonly at: number } | undefined;
  let askedAt = -Infinity;
  let asking: Promise<void> | undefined;
  const askNow = async (at: number): Promise<void> => {
    askedAt = at;
    try {
      last = { figures: await ask(), at };
    } catch {
      // The store is away, as its own log says.
    } finally {
      asking = undefined;
    }
  };
  return async () => {
    const now = clock.monotonic();
    if (now - askedAt >= keptFor) asking ??= askNow(now);
    if (asking !== undefined) await inTime(asking, patience, () => {});
    return last !== undefined && clock.monotonic() - last.at < staleAfter ? last.figures : undefined;
  };
}
