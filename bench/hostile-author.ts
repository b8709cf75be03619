/**
 * One hostile engineering user flat out, next to an admin who makes 20 calls a second and runs an automation every ten seconds.
 *
 *   node bench/hostile-author.ts [--seconds 300] [--quiet 20] [--store sqlite|postgres] [--cpu-prof DIRECTORY]
 *
 * First the admin works alone. Exit code 1 where one of the marks is missed, which bench/README.md names. Linux only.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { testPasswordHash } from '../test/support/gateway/start-gateway.ts';
import type { Owner } from '../test/support/owner.ts';
import { ownPostgres } from '../test/support/stores/own-postgres.ts';
import { answeringUpstream } from './answering-upstream.ts';
import { type AdminFigures, admin } from './hostile/admin.ts';
import type { HostileCounts, HostileOrder } from './hostile/attacker.ts';
import { mebibytes } from './process-tree.ts';
import { type GatewaySide, gatewaySide } from './runs/gateway-side.ts';
import { owning } from './speed/owning.ts';
import { table } from './speed/report.ts';
import { tokenOf } from './speed/subjects.ts';

/** Greatest p99 next to the hostile user, in times of that of a quiet gateway. */
const markOfCalls = 3;
/** Milliseconds in which a run of the admin has to begin. */
const markOfRuns = 5000;
/** The defaults of `automations.storePerPerson` and `audit.maxSize`, in MiB. */
const [storePerPerson, auditLog] = [2048, 1024];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    quiet: { type: 'string', default: '20' },
    store: { type: 'string', default: 'sqlite' },
    'cpu-prof': { type: 'string' },
  },
});
const [seconds, quiet] = [Number(values.seconds), Number(values.quiet)];
const profiles = values['cpu-prof'];

const marks = await owning((owner) => Promise.race([measure(owner), tooLong()]));
for (const [what, reached] of marks) console.log(`${reached ? 'reached' : 'MISSED'}: ${what}`);
if (marks.some(([, reached]) => !reached)) process.exitCode = 1;

async function measure(owner: Owner): Promise<readonly (readonly [string, boolean])[]> {
  const attacker = fork(join(import.meta.dirname, 'hostile/attacker.ts'));
  owner.after(() => void attacker.kill());
  const exited = once(attacker, 'exit').then(() => {
    throw new Error('the process of the hostile user ended');
  });
  exited.catch(() => undefined);
  const heard = async <T>(): Promise<T> => ((await Promise.race([once(attacker, 'message'), exited])) as [T])[0];
  const hostileFar = await heard<string>();
  const far = await answeringUpstream(owner);
  const server = values.store === 'postgres' ? await ownPostgres(owner) : undefined;
  const hostile = { username: 'hostile', passwordHash: testPasswordHash, roles: ['engineering', 'readonly'], groups: [] };
  const side = await gatewaySide(owner, {
    server: server && { url: server.url, pid: server.pid ?? 0 },
    far: [far, hostileFar],
    users: [hostile],
    nodeArguments: profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', resolve(profiles)],
  });
  const work = await admin(owner, side, far);
  await work(5);
  const alone = await work(quiet);
  const before = await storeSizes(side);
  const order: HostileOrder = { port: side.port, token: await tokenOf(side.port, hostile.username) };
  attacker.send(order);
  await heard<'begun'>();
  const busy = await work(seconds);
  attacker.send('stop');
  const counts = await heard<HostileCounts>();
  const after = await storeSizes(side);
  const memory = mebibytes(side.pid, 'VmHWM');
  printAdmin(alone, busy);
  console.log(`\n${table(['part of the store', 'before, MiB', 'after, MiB'], storeRows(before, after))}`);
  console.log(`\ngreatest memory of the gateway: ${memory.toFixed(0)} MiB\n`);
  printCounts(counts);
  console.log(`\n${await limitsOf(side)}\n`);
  const growth = sum(after) - sum(before);
  const greatest = Math.max(...busy.begins);
  const ratio = busy.all.p99 / alone.all.p99;
  return [
    [
      `${busy.made - busy.answered} of ${busy.made} calls of the admin not answered with 2xx (mark 0)`,
      busy.answered === busy.made,
    ],
    [`p99 ${ratio.toFixed(2)} times that of a quiet gateway (mark ${markOfCalls})`, ratio <= markOfCalls],
    [`each run began within ${greatest} ms (mark ${markOfRuns})`, greatest <= markOfRuns],
    [
      `the store grew by ${growth.toFixed(0)} MiB (mark ${storePerPerson} of storePerPerson and ${auditLog} of the audit log)`,
      growth <= storePerPerson + auditLog,
    ],
  ];
}

function printAdmin(alone: AdminFigures, busy: AdminFigures): void {
  const row = (name: string, of: (figures: AdminFigures) => string): string[] => [name, of(alone), of(busy)];
  const rows = [
    row('calls made', ({ made }) => String(made)),
    row('answered with 2xx', ({ answered }) => String(answered)),
    row('other statuses (0: no reply)', ({ refused }) => refused.join(', ') || 'none'),
    row('all calls: p50, p99, ms', ({ all }) => latencyText(all)),
    row('queries: p50, p99, ms', ({ queries }) => latencyText(queries)),
    row('actions: p50, p99, ms', ({ actions }) => latencyText(actions)),
    row('straight to the upstream: p99, ms', ({ straightP99 }) => straightP99.toFixed(1)),
    row('POST of each run to its first task, ms', ({ begins }) => begins.join(', ')),
  ];
  console.log(table(['admin', 'quiet', 'next to the hostile user'], rows));
}

function latencyText({ p50, p99 }: AdminFigures['all']): string {
  return `${p50.toFixed(1)}, ${p99.toFixed(1)}`;
}

function printCounts(counts: HostileCounts): void {
  const rows = Object.entries(counts).map(([attack, outcomes]) => {
    const texts = Object.entries(outcomes).map(([outcome, count]) => `${outcome}: ${count}`);
    return [attack, texts.join(', ') || 'no reply'];
  });
  console.log(table(['hostile user', 'replies'], rows));
}

/** MiB of each part of the store. */
async function storeSizes({ store }: GatewaySide): Promise<ReadonlyMap<string, number>> {
  if (typeof store !== 'string') {
    const client = new Client({ connectionString: store.url });
    await client.connect();
    const { rows } = await client.query<{ size: string }>('select pg_database_size(current_database()) as size');
    await client.end();
    return new Map([['database', Number(rows[0]?.size) / 1024 ** 2]]);
  }
  const directory = dirname(store);
  const files = readdirSync(directory).filter((name) => /\.db(?:-wal)?$/u.test(name));
  return new Map(files.map((name) => [name, statSync(join(directory, name)).size / 1024 ** 2]));
}

function storeRows(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string[][] {
  return [...after].map(([name, size]) => [name, (before.get(name) ?? 0).toFixed(1), size.toFixed(1)]);
}

function sum(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((total, size) => total + size, 0);
}

/** The lines of the metric that counts what each limit refused, cut or delayed. */
async function limitsOf({ port, token }: GatewaySide): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const lines = (await reply.text()).split('\n').filter((line) => /^gateway_(?:limit_reached_total|run_internal)/u.test(line));
  return lines.join('\n');
}

async function tooLong(): Promise<never> {
  await new Promise((elapsed) => setTimeout(elapsed, (seconds + quiet + 180) * 1000).unref());
  throw new Error('the benchmark took too long');
}
