import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { noLog } from '../src/base/log.ts';
import { openDatabase } from '../src/database/database.ts';
import type { EndedWork } from '../src/statistics/rollup.ts';
import { createRollups } from '../src/statistics/rollups.ts';
import { basic, startGatewayProcess, testPassword, testPasswordHash } from '../test/support/gateway/start-gateway.ts';
import type { Owner } from '../test/support/owner.ts';
import { foundPostgres, sqliteStore, storeUrl, type TestStore } from '../test/support/stores/stores.ts';
import { median } from './figures.ts';
import { table } from './speed/report.ts';

// The routes of statistics with a million ended runs and a million ended calls in 30 days, on both stores.

const { values } = parseArgs({
  options: { ends: { type: 'string', default: '1000000' }, store: { type: 'string' }, write: { type: 'string' } },
});
const ends = Number(values.ends);
const days = 30;
const automations = 100;
const asked = 7;
/** Milliseconds. */
const mark = 200;
const day = 86_400_000;

const owner: Owner & { readonly closers: (() => void | Promise<void>)[] } = {
  closers: [],
  after: (close) => void owner.closers.unshift(close),
};

const users = [
  { username: 'otto', passwordHash: testPasswordHash, roles: ['other'], groups: ['noc'] },
  { username: 'eve', passwordHash: testPasswordHash, roles: ['engineering'], groups: ['noc'] },
];

/** Log-normal around half a second, each automation with its own mean. */
function durationOf(subject: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return 500 * Math.exp(0.5 * normal + (subject % 10) / 5);
}

function endOf(kind: EndedWork['kind'], number: number, now: number): EndedWork {
  const subject = Math.floor(Math.random() * automations);
  const isGood = Math.random() < 0.95;
  const [good, bad] = kind === 'run' ? ['completed', 'faulted'] : ['ok', 'failed'];
  const name = kind === 'run' ? `bench-${subject}` : `Orchestrator ${subject % 10}`;
  const at = Math.floor(now - (number / ends) * days * day);
  return { kind, subject: name, status: (isGood ? good : bad) ?? '', at, duration: durationOf(subject) };
}

async function measure(store: TestStore): Promise<readonly (readonly string[])[]> {
  const name = store.dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  const place = await store.fresh(owner);
  const gateway = await startGatewayProcess(owner, { config: { store: { url: storeUrl(place) } }, users });
  const lines = Array.from({ length: automations }, (_, index) => {
    const gbac = index % 2 === 0 ? { read: ['noc'], write: ['noc'] } : { read: [], write: [] };
    return JSON.stringify({ _id: `bench-${index}`, name: `Automation ${index}`, data: { gbac } });
  });
  const headers = { 'Content-Type': 'application/x-ndjson' };
  await gateway.send({ role: 'admin', method: 'POST', target: '/automation_catalog/import', headers, body: lines.join('\n') });
  const database = await openDatabase({ store: place, log: noLog });
  const rollups = createRollups(database);
  const now = Date.now();
  for (const kind of ['run', 'call'] as const)
    for (let first = 0; first < ends; first += 8_000) {
      const batch = Array.from({ length: Math.min(8_000, ends - first) }, (_, index) => endOf(kind, first + index, now));
      await rollups.counted(batch, { gateway: `gateway ${first % 16_000 === 0 ? 'one' : 'two'}` }).execute(database.records);
    }
  // The upkeep of the gateway does it, 200 transactions a minute.
  while ((await rollups.pack({ now, limit: 1_000 })) === 1_000);
  const { count } = await database.read
    .selectFrom('rollup')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  console.error(`${name}: ${count} rows`);
  await database.close();
  const since = (back: number): string => `since=${new Date(now - back * day).toISOString()}`;
  const admin = gateway.basicFor('admin');
  const questions: readonly (readonly [who: string, Authorization: string, target: string])[] = [
    ['admin', admin, '/statistics/runs'],
    ['admin', admin, '/statistics/runs?step=15m'],
    ['admin', admin, `/statistics/runs?step=1h&${since(16)}`],
    ['admin', admin, `/statistics/runs?step=1d&timeZone=Europe/Berlin&${since(30)}`],
    ['other', basic('otto', testPassword), `/statistics/runs?step=1d&timeZone=Europe/Berlin&${since(30)}`],
    ['engineering', basic('eve', testPassword), `/statistics/runs?step=1d&timeZone=Europe/Berlin&${since(30)}`],
    ['engineering', basic('eve', testPassword), `/statistics/runs?step=1d&timeZone=Asia/Kolkata&${since(30)}`],
    ['admin', admin, `/statistics/calls?step=1d&${since(30)}`],
    ['admin', admin, `/statistics/calls?step=1d&${since(30)}&adapter=Orchestrator%203`],
  ];
  const rows: string[][] = [];
  for (const [who, Authorization, target] of questions) {
    const times: number[] = [];
    for (let turn = 0; turn <= asked; turn += 1) {
      const began = performance.now();
      const reply = await gateway.send({ target, headers: { Authorization } });
      if (reply.status !== 200) throw new Error(`${target}: ${reply.text}`);
      if (turn > 0) times.push(performance.now() - began);
    }
    const misses = median(times) > mark ? ' (misses the mark)' : '';
    rows.push([
      name,
      who,
      `\`${target.replace(/since=[^&]*/u, 'since=…')}\``,
      `${median(times).toFixed(0)}${misses}`,
      Math.max(...times).toFixed(0),
    ]);
  }
  return rows;
}

try {
  const rows: (readonly string[])[] = [];
  for (const store of [sqliteStore, foundPostgres])
    if (store !== undefined && (values.store ?? store.dialect) === store.dialect) rows.push(...(await measure(store)));
  const text = `${ends} ended runs of ${automations} automations and as many ended calls to 10 orchestrators, counted by two gateways in ${days} days. The time is that of a request, the median and the greatest of ${asked}. Mark: ${mark} ms.`;
  const head = ['store', 'who', 'question', 'median, ms', 'greatest, ms'];
  const page = `## Statistics\n\n${text}\n\n${table(
    head,
    rows.map((row) => [...row]),
  )}\n`;
  console.log(page);
  if (values.write !== undefined)
    writeFileSync(values.write, `# Statistics\n\n\`node bench/statistics.ts\`: ${page.replace('## Statistics\n\n', '')}`);
} finally {
  for (const close of owner.closers) await close();
}
