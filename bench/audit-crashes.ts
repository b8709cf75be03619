/**
 * Kills a gateway under a load of actions; the full form of test/audit-crashes.test.ts.
 *
 *   node bench/audit-crashes.ts [ROUNDS] [sqlite|postgres] [SEED]        default 200, both stores, a new seed
 *
 * After each kill the gateway starts again. The audit log is then compared with the requests at the upstream and the replies to callers.
 * PostgreSQL is the one at TEST_POSTGRES_URL, else at 127.0.0.1:5432. Exit code 1 where a record or an outcome is missing.
 */
import { auditCrashRounds } from '../test/support/crashes/audit-crash-rounds.ts';
import { crashSeed } from '../test/support/crashes/crash-rounds.ts';
import { foundPostgres, sqliteStore, type TestStore } from '../test/support/stores/stores.ts';

const [roundsGiven = '200', only, seedGiven] = process.argv.slice(2);
const rounds = Number(roundsGiven);
const seed = seedGiven === undefined ? crashSeed() : Number(seedGiven);

async function run(store: TestStore): Promise<void> {
  const closers: (() => void | Promise<void>)[] = [];
  const started = performance.now();
  const again = `node bench/audit-crashes.ts ${rounds} ${store.dialect} ${seed}`;
  console.log(`${store.dialect}: ${rounds} rounds; to repeat them: ${again}`);
  try {
    const { acknowledged, arrivedUnanswered, unknown, repeated } = await auditCrashRounds(
      { after: (close) => void closers.unshift(close) },
      { store, rounds, seed, report: (line) => console.log(`${store.dialect}: ${line}`) },
    );
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(
      `${store.dialect}: no record and no outcome missing in ${rounds} kills, ${seconds} s; ${acknowledged} acknowledged, ${arrivedUnanswered} arrived but not acknowledged, ${unknown} of these with an unknown outcome; sent again with their keys: ${JSON.stringify(repeated)}`,
    );
  } finally {
    for (const close of closers) await close();
  }
}

const stores = [sqliteStore, foundPostgres].filter((store) => store !== undefined);
if (foundPostgres === undefined) console.log('postgres: no server answers; only SQLite is tested');
for (const store of stores) if (only === undefined || only === store.dialect) await run(store);
