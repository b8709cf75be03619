import { sql, type Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';
import type { NewRun, StoredRun } from './run-records.ts';
import { createdRun, digestOf, lowestOf, rowOfRun } from './run-row.ts';
import type { RunStoreContext } from './run-store-context.ts';
import { lossOf } from './store-loss-store.ts';

/** Nineteen columns each: well below the 32,766 parameters that SQLite takes in a statement. */
const runsAtOnce = 500;

/**
 * Creates the runs that do not exist yet, within a transaction of `Database.records`, and answers these. They can be claimed at once.
 */
export async function createRunsIn(
  transaction: Transaction<Tables>,
  runs: readonly NewRun[],
  { now, clock, personOf }: Pick<RunStoreContext, 'now' | 'clock' | 'personOf'>,
): Promise<readonly StoredRun[]> {
  const createdAt = clock.now();
  // In one order for all gateways: two transactions that create the same runs wait for each other, and cannot deadlock.
  const byId = new Map(runs.toReversed().map((run) => [run.id, run]));
  const given = [...byId.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const created: StoredRun[] = [];
  for (let start = 0; start < given.length; start += runsAtOnce) {
    const some = given.slice(start, start + runsAtOnce);
    const rows = await transaction
      .insertInto('run')
      .values(some.map((run) => rowOfRun(run, createdAt)))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute();
    const ids = new Set(rows.map(({ id }) => id));
    const fresh = some.filter(({ id }) => ids.has(id));
    if (fresh.length === 0) continue;
    await transaction
      .insertInto('run_text')
      .values(fresh.map(({ id, input }) => ({ run: id, input, output: null })))
      .execute();
    await transaction
      .insertInto('run_claim')
      .values(
        fresh.map((run) => ({
          run: run.id,
          person: digestOf(personOf(run.principal.id)),
          in_batch: run.item === undefined ? 0 : 1,
          loss: lossOf(run),
          owner: null,
          fence: 0,
          due_at: sql<number>`${now()}`,
          listens: 0,
          scanned: 0,
          deaths: 0,
          lowest: lowestOf(run),
        })),
      )
      .execute();
    created.push(...fresh.map((run) => createdRun(run, createdAt)));
  }
  return created;
}
