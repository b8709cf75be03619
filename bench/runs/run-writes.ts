/**
 * What the store of PostgreSQL gets from runs.
 *
 *   node bench/runs/run-writes.ts [RUNS]        default 10000
 *
 * Prints what a run alone writes, for each job: transactions, rows and bytes of write-ahead log. Then the bytes that RUNS runs of `values` take in
 * each table, with task data and without it. Mark: 400 MB for 100,000 runs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Owner } from '../../test/support/owner.ts';
import { ownPostgres } from '../../test/support/stores/own-postgres.ts';
import { startSurroundings } from '../speed/answering-upstream.ts';
import { owning } from '../speed/owning.ts';
import { table } from '../speed/report.ts';
import { gatewaySide } from './gateway-side.ts';
import { type JobName, jobNames } from './jobs.ts';

const stored = Number(process.argv[2] ?? 10_000);
/** Runs of each job that are measured alone, one after the other. */
const alone = 40;

await owning(async (owner) => {
  const { upstream } = await startSurroundings(owner);
  for (const taskData of [true, false]) {
    const { run, client } = await writer(owner, upstream, taskData);
    for (const job of jobNames) await run(job, 200);
    if (taskData) console.log(await writesAlone({ run, client }));
    await run('values', stored);
    console.log(`\n${taskData ? 'With' : 'Without'} task data:\n\n${await sizesOf(client)}`);
  }
});

interface Writer {
  /** Resolves once they have ended. */
  readonly run: (job: JobName, count: number) => Promise<void>;
  readonly client: Client;
}

async function writer(owner: Owner, upstream: string, taskData: boolean): Promise<Writer> {
  const { url, pid = 0 } = await ownPostgres(owner);
  const side = await gatewaySide(owner, { server: { url, pid }, far: [upstream], taskData });
  const client = new Client({ connectionString: url });
  await client.connect();
  owner.after(() => client.end());
  return {
    client,
    async run(job, count) {
      const before = await side.ended();
      await side.create({ job, count, far: upstream });
      while ((await side.ended()) < before + count) await sleep(20);
    },
  };
}

async function writesAlone({ run, client }: Writer): Promise<string> {
  const figures = async (): Promise<Figures> => {
    // Statistics of a session reach the server within a second after its last transaction.
    await sleep(1_500);
    const { rows } = await client.query<
      Record<keyof Figures, string>
    >(`select pg_snapshot_xmax(pg_current_snapshot()) as commits, tup_inserted + tup_updated + tup_deleted as rows,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal from pg_stat_database where datname = current_database()`);
    const [found] = rows;
    return { commits: Number(found?.commits), rows: Number(found?.rows), wal: Number(found?.wal), at: performance.now() };
  };
  const rows: string[][] = [];
  for (const job of jobNames) {
    const start = await figures();
    // What a gateway without runs does.
    await sleep(5_000);
    const quiet = await figures();
    for (let count = 0; count < alone; count += 1) await run(job, 1);
    const end = await figures();
    const share = (end.at - quiet.at) / (quiet.at - start.at);
    const perRun = (name: 'commits' | 'rows' | 'wal'): number =>
      (end[name] - quiet[name] - (quiet[name] - start[name]) * share) / alone;
    rows.push([job, perRun('commits').toFixed(1), perRun('rows').toFixed(1), (perRun('wal') / 1000).toFixed(1)]);
  }
  return table(['run alone', 'transactions that write', 'rows written', 'write-ahead log, kB'], rows);
}

async function sizesOf(client: Client): Promise<string> {
  const { rows: sizes } = await client.query<{
    name: string;
    size: string;
  }>(`select relname as name, pg_total_relation_size(oid) as size
    from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 2 desc limit 8`);
  const { rows } = await client.query<{ runs: string }>('select count(*) as runs from run');
  const runs = Number(rows[0]?.runs);
  const total = sizes.reduce((sum, { size }) => sum + Number(size), 0);
  const shares = [
    ...sizes.map(({ name, size }) => [name, (Number(size) / runs).toFixed(0)]),
    ['together', (total / runs).toFixed(0)],
  ];
  return `${table(['table', `bytes a run (${runs} runs)`], shares)}\n\n100,000 runs take ${((total / runs) * 0.1).toFixed(0)} MB.`;
}

interface Figures {
  readonly commits: number;
  readonly rows: number;
  readonly wal: number;
  readonly at: number;
}
