/**
 * Kills a gateway while it executes runs; the full form of test/run-crashes.test.ts.
 *
 *   node bench/run-crashes.ts [ROUNDS] [sqlite|postgres] [SEED]        default 200, both stores, a new seed
 *
 * After each kill the gateway starts again. At the end the runs are compared with the actions that the upstream counted. PostgreSQL is the one
 * at TEST_POSTGRES_URL, else at 127.0.0.1:5432. Exit code 1 where an action is missing or arrived twice, or a run did not end.
 */
import { crashSeed } from '../test/support/crashes/crash-rounds.ts';
import { runCrashRounds } from '../test/support/crashes/run-crash-rounds.ts';
import { foundPostgres, sqliteStore, type TestStore } from '../test/support/stores/stores.ts';

const [roundsGiven = '200', only, seedGiven] = process.argv.slice(2);
const rounds = Number(roundsGiven);
const seed = seedGiven === undefined ? crashSeed() : Number(seedGiven);

async function run(store: TestStore): Promise<void> {
  const closers: (() => void | Promise<void>)[] = [];
  const started = performance.now();
  console.log(`${store.dialect}: ${rounds} rounds; to repeat them: node bench/run-crashes.ts ${rounds} ${store.dialect} ${seed}`);
  try {
    const { runs, actions, done, again, endedByDeaths, takenUpAfter } = await runCrashRounds(
      { after: (close) => void closers.unshift(close) },
      { store, rounds, seed, report: (line) => console.log(`${store.dialect}: ${line}`) },
    );
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(
      `${store.dialect}: each action exactly once in ${rounds} kills, ${seconds} s; ${runs} runs, ${actions} actions; decided: ${done} done, ${again} again; ${endedByDeaths} runs ended after three kills at one task; no run was under way ${takenUpAfter} ms after the last start`,
    );
  } finally {
    for (const close of closers) await close();
  }
}

const stores = [sqliteStore, foundPostgres].filter((store) => store !== undefined);
if (foundPostgres === undefined) console.log('postgres: no server answers; only SQLite is tested');
for (const store of stores) if (only === undefined || only === store.dialect) await run(store);
