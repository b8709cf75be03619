/**
 * Kills a gateway at random moments of its work; the full forms of test/audit-crashes.test.ts, test/catalogue-crashes.test.ts and
 * test/run-crashes.test.ts.
 *
 *   node bench/crashes.ts audit|catalogue|runs [ROUNDS] [sqlite|postgres] [SEED]        default 200, both stores, a new seed
 *
 * After each kill the gateway starts again. PostgreSQL is the one at TEST_POSTGRES_URL, else at 127.0.0.1:5432. Exit code 1 where something
 * acknowledged is missing, or an action is missing or arrived twice.
 */
import { auditCrashRounds } from '../test/support/crashes/audit-crash-rounds.ts';
import { crashRounds, crashSeed } from '../test/support/crashes/crash-rounds.ts';
import { runCrashRounds } from '../test/support/crashes/run-crash-rounds.ts';
import { foundPostgres, sqliteStore, type TestStore } from '../test/support/stores/stores.ts';

const [kind = '', roundsGiven = '200', only, seedGiven] = process.argv.slice(2);
const rounds = Number(roundsGiven);
const seed = seedGiven === undefined ? crashSeed() : Number(seedGiven);

type Rounds = (...given: Parameters<typeof crashRounds>) => Promise<string>;

/** Each resolves with what its rounds have shown. */
const kinds: Readonly<Record<string, Rounds>> = {
  async audit(...given) {
    const { acknowledged, arrivedUnanswered, unknown, repeated } = await auditCrashRounds(...given);
    return `no record and no outcome missing; ${acknowledged} acknowledged, ${arrivedUnanswered} arrived but not acknowledged, ${unknown} of these with an unknown outcome; sent again with their keys: ${JSON.stringify(repeated)}`;
  },
  async catalogue(...given) {
    const { acknowledged, unanswered } = await crashRounds(...given);
    return `nothing lost; ${acknowledged} writes acknowledged, ${unanswered} in flight at a kill`;
  },
  async runs(...given) {
    const { runs, actions, done, again, endedByDeaths, takenUpAfter } = await runCrashRounds(...given);
    return `each action exactly once; ${runs} runs, ${actions} actions; decided: ${done} done, ${again} again; ${endedByDeaths} runs ended after three kills at one task; no run was under way ${takenUpAfter} ms after the last start`;
  },
};

async function runOn(store: TestStore, work: Rounds): Promise<void> {
  const tell = (line: string): void => console.log(`${store.dialect}: ${line}`);
  const closers: (() => void | Promise<void>)[] = [];
  const started = performance.now();
  tell(`${rounds} rounds; to repeat them: node bench/crashes.ts ${kind} ${rounds} ${store.dialect} ${seed}`);
  try {
    const shown = await work({ after: (close) => void closers.unshift(close) }, { store, rounds, seed, report: tell });
    tell(`${rounds} kills in ${Math.round((performance.now() - started) / 1000)} s: ${shown}`);
  } finally {
    for (const close of closers) await close();
  }
}

const work = kinds[kind];
if (work === undefined) throw new Error(`name one of ${Object.keys(kinds).join(', ')}`);
const stores = [sqliteStore, foundPostgres].filter((store) => store !== undefined);
if (foundPostgres === undefined) console.log('postgres: no server answers; only SQLite is tested');
for (const store of stores) if (only === undefined || only === store.dialect) await runOn(store, work);
