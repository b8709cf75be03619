/**
 * Times of a large catalogue on both stores, and their marks (bench/README.md). A figure is the time of the store's answer, with the
 * round trip to the database. The benchmark creates the stores and removes them at the end, also after Ctrl-C.
 *
 *   node bench/catalogue.ts [--documents 100000] [--runs 20] [--store sqlite|postgres] [--scattered] [--write FILE]
 *
 * PostgreSQL: TEST_POSTGRES_URL, else 127.0.0.1:5432. Linux only: memory is read from /proc. It ends after an hour at the latest.
 */

import { writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { createAutomationStore } from '../src/automations/store/automation-store.ts';
import { noLog } from '../src/base/log.ts';
import { openDatabase, type StoreOptions } from '../src/database/database.ts';
import { foundPostgres, sqliteStore, type TestStore } from '../test/support/stores/stores.ts';
import { type AnsweredQuestion, askAll } from './catalogue/answers.ts';
import { fill, importedAtOnce } from './catalogue/fill.ts';
import { type Cost, costOf } from './catalogue/measure.ts';
import { answerHead, answerRow, blockLine, costHead, costRow, verdictOn } from './catalogue/report.ts';

const { values } = parseArgs({
  options: {
    documents: { type: 'string', default: '100000' },
    runs: { type: 'string', default: '20' },
    store: { type: 'string' },
    scattered: { type: 'boolean', default: false },
    write: { type: 'string' },
  },
});
const [documents, runs] = [Number(values.documents), Number(values.runs)];
const timeLimit = 3_600_000;
const interruption = AbortSignal.any([interrupted(), AbortSignal.timeout(timeLimit)]);
const lines: string[] = [];

/** The first Ctrl-C (or SIGTERM) ends the measuring and cleans up; a second one ends the process. */
function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => controller.abort(new Error(`ended by ${signal}`)));
  return controller.signal;
}

function say(text: string): void {
  console.log(text);
  lines.push(text);
}

async function measure(kind: TestStore): Promise<void> {
  await using cleanUp = new AsyncDisposableStack();
  const place = await kind.fresh({ after: (close) => cleanUp.defer(async () => close()) });
  const database = await openDatabase({ store: place, log: noLog });
  cleanUp.defer(() => database.close());
  const store = createAutomationStore(database);
  say(`\n### ${kind.dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'}\n`);
  const costs = await fill(store, {
    documents,
    lists: values.scattered ? 'scattered' : 'usual',
    interruption,
    onImported: (imported) => console.error(`${kind.dialect}: ${grouped(imported)} imported`),
  });
  await settle(place);
  say(answerHead);
  const answered: AnsweredQuestion[] = [];
  await askAll(store, {
    runs,
    interruption,
    onAnswer(answer) {
      answered.push(answer);
      say(answerRow(answer));
    },
  });
  const { reached, text } = verdictOn(answered);
  if (!reached) process.exitCode = 1;
  say(`\n${text} ${blockLine(answered)}\n`);
  say(costHead);
  sayImports(costs);
  const exported = await costOf(async () => {
    for await (const _texts of store.export()) interruption.throwIfAborted();
  });
  say(costRow(`export of ${grouped(documents)}`, exported.cost));
}

function sayImports(costs: readonly Cost[]): void {
  const last = costs.length - 1;
  for (const [index, cost] of costs.entries()) {
    if (index > 0 && index < last) continue;
    const first = index * importedAtOnce;
    say(costRow(`import of ${grouped(Math.min(importedAtOnce, documents - first))} into ${grouped(first)}`, cost));
  }
}

/** Vacuums the tables, which PostgreSQL otherwise does within minutes of a large import, during the measurement. */
async function settle(place: StoreOptions): Promise<void> {
  if (place.kind === 'sqlite') return;
  const client = new Client({ connectionString: place.url.reveal() });
  await client.connect();
  try {
    // Without names PostgreSQL would vacuum the whole database, including the tables of others.
    const { rows } = await client.query<{ names: string }>(
      `select string_agg(quote_ident(tablename), ', ') as names from pg_tables where schemaname = current_schema()`,
    );
    await client.query(`vacuum (analyze) ${rows[0]?.names ?? ''}`);
  } finally {
    await client.end();
  }
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

const kinds = [sqliteStore, ...(foundPostgres === undefined ? [] : [foundPostgres])].filter(
  ({ dialect }) => values.store === undefined || values.store === dialect,
);
const [processor] = cpus();
say(
  `${grouped(documents)} documents, median of ${runs} runs. Node ${process.versions.node}, ${cpus().length} × ${processor?.model}, ` +
    `${Math.round(totalmem() / 1024 ** 3)} GiB; load average ${loadavg()[0]?.toFixed(1)} at the start.`,
);
if (foundPostgres === undefined) say('\nNo PostgreSQL was found: measured on SQLite alone.');
try {
  for (const kind of kinds) await measure(kind);
} catch (error) {
  if (!interruption.aborted) throw error;
  say(`\nInterrupted: ${String(interruption.reason)}`);
  process.exitCode = 1;
}
say(`\nLoad average ${loadavg()[0]?.toFixed(1)} at the end.`);
if (values.write !== undefined) await writeFile(values.write, `${lines.join('\n')}\n`);
