import type { Database } from '#database/database.ts';
import type { RollupKind } from './rollup.ts';
import { packRollups } from './rollup-packing-store.ts';
import { endsCounted, forgetRollup, type RollupQuestion, subjectsOf, summariesOf } from './rollup-store.ts';

export type Rollups = ReturnType<typeof createRollups>;

/** What parts of the gateway count and ask. Each rejects with `store-unavailable`. */
export function createRollups(database: Pick<Database, 'dialect' | 'exclusively' | 'read' | 'records'>) {
  return {
    /** See `endsCounted`. */
    counted: (ends: Parameters<typeof endsCounted>[1], options: Parameters<typeof endsCounted>[2]) =>
      endsCounted(database.dialect, ends, options),
    /** See `summariesOf`. */
    summaries: (question: RollupQuestion) => summariesOf(database, question),
    /** See `subjectsOf`. */
    subjects: (question: Parameters<typeof subjectsOf>[1]) => subjectsOf(database, question),
    /** See `packRollups`. */
    pack: (options: Parameters<typeof packRollups>[1]) => packRollups(database, options),
    /** Deletes what ended before: milliseconds since the epoch. */
    forget: (kind: RollupKind, before: number) => forgetRollup(database, kind, before),
  };
}
