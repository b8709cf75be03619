/**
 * Kills gateways while they run a batch; the full form of test/batch-crashes.test.ts.
 *
 *   node bench/batch-crashes.ts [ITEMS] [KILLS] [sqlite|postgres] [SEED]      default 5000, 1, both stores, a new seed
 *
 * Twenty items run at once, and the kills are spread over the batch. On PostgreSQL there are two gateways. Exit code 1 where the action of an item
 * is missing or arrived twice, or the batch did not end.
 */
import { runBatchCrashes } from '../test/support/crashes/batch-crashes.ts';
import { crashSeed } from '../test/support/crashes/crash-rounds.ts';
import { foundPostgres, sqliteStore, type TestStore } from '../test/support/stores/stores.ts';

const [itemsGiven = '5000', killsGiven = '1', only, seedGiven] = process.argv.slice(2);
const [items, kills] = [Number(itemsGiven), Number(killsGiven)];
const seed = seedGiven === undefined ? crashSeed() : Number(seedGiven);

async function run(store: TestStore): Promise<void> {
  const closers: (() => void | Promise<void>)[] = [];
  console.log(
    `${store.dialect}: ${items} items; to repeat: node bench/batch-crashes.ts ${items} ${kills} ${store.dialect} ${seed}`,
  );
  try {
    const { done, again, took } = await runBatchCrashes(
      { after: (close) => void closers.unshift(close) },
      { store, items, parallel: 20, kills, seed, report: (line) => console.log(`${store.dialect}: ${line}`) },
    );
    const rate = Math.round((items / took) * 1000);
    console.log(
      `${store.dialect}: each action exactly once after ${kills} kills, ${Math.round(took / 1000)} s, ${rate} items a second; decided: ${done} done, ${again} again`,
    );
  } finally {
    for (const close of closers) await close();
  }
}

const stores = [sqliteStore, foundPostgres].filter((store) => store !== undefined);
if (foundPostgres === undefined) console.log('postgres: no server answers; only SQLite is tested');
for (const store of stores) if (only === undefined || only === store.dialect) await run(store);
