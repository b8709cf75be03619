import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Clock } from '#base/clock.ts';
import type { Database, StoreOptions } from '#database/database.ts';
import { createStoppedClock, seesNothing } from './run-records.test-support.ts';
import type { ClaimedRun } from './run-records.ts';
import { createRunStore, type RunStore } from './run-store.ts';

/** Milliseconds. */
export const lease = 10_000;

interface OpenedRuns {
  readonly clock: ReturnType<typeof createStoppedClock>;
  readonly database: Database;
  readonly runs: RunStore;
  /** The store of another gateway. */
  readonly another: () => Promise<RunStore>;
}

/** As `TestStore` has them. */
interface Stores {
  empty(t: TestContext): Promise<StoreOptions>;
  open(t: TestContext, store: StoreOptions): Promise<Database>;
}

/** An empty store, whose leases end by the clock that is answered. */
export async function openRunStore(t: TestContext, store: Stores): Promise<OpenedRuns> {
  const options = await store.empty(t);
  const clock = createStoppedClock();
  const over = (database: Database): RunStore => runStoreOver(t, database, clock);
  const database = await store.open(t, options);
  return { clock, database, runs: over(database), another: async () => over(await store.open(t, options)) };
}

/** The runs of a database by this clock, closed after the test. */
export function runStoreOver(t: TestContext, database: Database, clock: Clock): RunStore {
  const runs = createRunStore({ database, clock, visible: seesNothing, time: 'process' });
  t.after(() => runs.close());
  return runs;
}

/** Claims the only run that is due. */
export async function claimOne(runs: RunStore, owner = 'one'): Promise<ClaimedRun> {
  const [claimed, ...more] = await runs.claim({ owner, limit: 10, lease });
  assert.ok(claimed !== undefined && more.length === 0);
  return claimed;
}
