/**
 * Kills of a gateway under write load, the full form of test/catalogue-crashes.test.ts.
 *
 *   node bench/catalogue-crashes.ts [ROUNDS] [sqlite|postgres] [SEED]        default 200, both stores, a new seed
 *
 * After each kill the gateway is started again, and what is there is held against what was acknowledged. PostgreSQL is the one at
 * TEST_POSTGRES_URL, else at 127.0.0.1:5432. Exit code 1 where something is lost, half there, or back again.
 */
import { crashRounds, crashSeed } from '../test/support/crashes/crash-rounds.ts';
import { foundPostgres, sqliteStore, type TestStore } from '../test/support/stores/stores.ts';

const [roundsGiven = '200', only, seedGiven] = process.argv.slice(2);
const rounds = Number(roundsGiven);
const seed = seedGiven === undefined ? crashSeed() : Number(seedGiven);

async function run(store: TestStore): Promise<void> {
  const closers: (() => void | Promise<void>)[] = [];
  const started = performance.now();
  console.log(
    `${store.dialect}: ${rounds} rounds; to play them again: node bench/catalogue-crashes.ts ${rounds} ${store.dialect} ${seed}`,
  );
  try {
    const result = await crashRounds(
      { after: (close) => void closers.push(close) },
      { store, rounds, seed, report: (line) => console.log(`${store.dialect}: ${line}`) },
    );
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(
      `${store.dialect}: nothing lost in ${rounds} kills, ${seconds} s; ${result.acknowledged} writes acknowledged, ${result.unanswered} under way at a kill`,
    );
  } finally {
    for (const close of closers) await close();
  }
}

const stores = [sqliteStore, foundPostgres].filter((store) => store !== undefined);
if (foundPostgres === undefined) console.log('postgres: none answers; only SQLite is tried');
for (const store of stores) if (only === undefined || only === store.dialect) await run(store);
