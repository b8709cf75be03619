/**
 * Kills a gateway under write load; the full form of test/catalogue-crashes.test.ts.
 *
 *   node bench/catalogue-crashes.ts [ROUNDS] [sqlite|postgres] [SEED]        default 200, both stores, a new seed
 *
 * After each kill the gateway starts again, and the catalogue is compared with the acknowledged writes. PostgreSQL is the one at
 * TEST_POSTGRES_URL, else at 127.0.0.1:5432. Exit code 1 where a write is lost or partial, or a deleted document is back.
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
    `${store.dialect}: ${rounds} rounds; to repeat them: node bench/catalogue-crashes.ts ${rounds} ${store.dialect} ${seed}`,
  );
  try {
    const result = await crashRounds(
      { after: (close) => void closers.push(close) },
      { store, rounds, seed, report: (line) => console.log(`${store.dialect}: ${line}`) },
    );
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(
      `${store.dialect}: nothing lost in ${rounds} kills, ${seconds} s; ${result.acknowledged} writes acknowledged, ${result.unanswered} in flight at a kill`,
    );
  } finally {
    for (const close of closers) await close();
  }
}

const stores = [sqliteStore, foundPostgres].filter((store) => store !== undefined);
if (foundPostgres === undefined) console.log('postgres: no server answers; only SQLite is tested');
for (const store of stores) if (only === undefined || only === store.dialect) await run(store);
