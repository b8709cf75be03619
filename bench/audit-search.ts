import { statSync } from 'node:fs';
import { sql } from 'kysely';
import type { AuditFacts } from '../src/audit/audit-entry.ts';
import { type AuditLog, createAuditLog } from '../src/audit/audit-log.ts';
import { noLog } from '../src/base/log.ts';
import { type Database, openDatabase, type StoreOptions } from '../src/database/database.ts';
import { filesOf } from '../src/database/store-part.ts';
import { type GatewayProcess, startGatewayProcess } from '../test/support/gateway/start-gateway.ts';
import type { Owner } from '../test/support/owner.ts';
import { foundPostgres, sqliteStore, storeUrl, type TestStore } from '../test/support/stores/stores.ts';
import { quantile } from './figures.ts';
import { table } from './speed/report.ts';
import type { Section } from './speed/section.ts';

/** Half of them are changes, with an intent and an outcome each. */
const records = Number(process.env['RECORDS'] ?? 1_000_000);
/** Milliseconds between two records of a store that is filled, and before now at its beginning. */
const step = 7_000;
/** Records that a rare question finds, far from each other. */
const found = 5;
const runs = 5;
const batch = 500;

/** Finds five records by each filter among a million, with one request of `GET /audit` each, on both stores. */
export async function auditSearch(owner: Owner): Promise<Section> {
  const rows: string[][] = [];
  const sizes: string[] = [];
  for (const store of [sqliteStore, foundPostgres])
    if (store !== undefined) {
      const { answers, size } = await measure(owner, store);
      rows.push(...answers);
      sizes.push(size);
    }
  const text = `${records} records, half of them changes. Each question finds ${found} of them, far from each other. The time is that of the requests, the median and the greatest of ${runs}. Marks: one request under 1,000 ms; \`search\` four requests under 1,000 ms each. ${sizes.join(' ')}`;
  const head = ['store', 'filter', 'records', 'requests', 'median of a request, ms', 'greatest, ms'];
  return { title: 'Searching the audit log', text: `${text}\n\n${table(head, rows)}` };
}

async function measure(owner: Owner, store: TestStore): Promise<{ readonly answers: string[][]; readonly size: string }> {
  const name = store.dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  const place = await store.fresh(owner);
  const database = await openDatabase({ store: place, log: noLog });
  const began = performance.now();
  await fill(database);
  const seconds = (performance.now() - began) / 1_000;
  const size = `${name}: ${Math.round((await bytesOf(database, place)) / 1024 ** 2)} MiB, filled in ${Math.round(seconds)} s.`;
  await database.close();
  console.error(size);
  const gateway = await startGatewayProcess(owner, { config: { store: { url: storeUrl(place) }, audit: { maxSize: '100GiB' } } });
  const answers: string[][] = [];
  for (const [filter, most] of questions()) {
    const asked = await ask(gateway, filter);
    const times = [asked.times];
    for (let run = 1; run < runs; run += 1) times.push((await ask(gateway, filter)).times);
    const all = times.flat();
    const isGood = asked.list === found && asked.times.length <= most && Math.max(...all) < 1_000;
    answers.push([
      name,
      `\`${filter}\`${isGood ? '' : ' (misses the mark)'}`,
      String(asked.list),
      String(asked.times.length),
      quantile(all, 0.5).toFixed(0),
      Math.max(...all).toFixed(0),
    ]);
  }
  return { answers, size };
}

function questions(): readonly (readonly [filter: string, requests: number])[] {
  const day = (back: number): string => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
  return [
    ['principal=rare', 1],
    ['object=rare-ports', 1],
    ['device=rare-7', 1],
    ['adapter=Rare', 1],
    ['outcome=unknown', 1],
    ['principal=rare&device=rare-7&outcome=unknown', 1],
    [`from=${day(81)}&to=${day(1)}&limit=5`, 1],
    ['search=rare-7', 4],
  ];
}

async function ask(
  gateway: GatewayProcess,
  filter: string,
): Promise<{ readonly list: number; readonly times: readonly number[] }> {
  const times: number[] = [];
  let list = 0;
  for (let cursor = ''; ; ) {
    const began = performance.now();
    const { text } = await gateway.send({ target: `/audit?${filter}${cursor}`, role: 'admin' });
    times.push(performance.now() - began);
    const page = JSON.parse(text) as { readonly list: readonly unknown[]; readonly cursor?: string };
    list += page.list.length;
    if (page.cursor === undefined || filter.includes('limit=')) return { list, times };
    cursor = `&cursor=${page.cursor}`;
  }
}

/** As a gateway writes them, with a clock that goes over eighty days. */
async function fill(database: Database): Promise<void> {
  let now = Date.now() - records * step * 0.99;
  const clock = { now: () => now, monotonic: () => performance.now() };
  const config = { retention: 36_500 * 86_400_000 };
  const log = await createAuditLog({ database, clock, log: noLog, version: '1', config, maxCallDuration: () => 60_000 });
  for (let first = 0; first < records; first += batch) {
    const changes: Promise<void>[] = [];
    for (let number = first; number < first + batch; number += 1) {
      now += step;
      const facts = factsOf(number);
      if (number % 2 === 0) changes.push(change(log, facts, isRare(number)));
      else log.record({ ...facts, verb: 'GET', outcome: 'ok' });
    }
    await Promise.all(changes);
    if (first % 100_000 === 0) console.error(`${first} records`);
  }
  await log.close();
}

function isRare(number: number): boolean {
  return number % (records / found) === records / found / 2;
}

async function change(log: AuditLog, facts: AuditFacts, rare: boolean): Promise<void> {
  const intended = await log.intend(facts);
  await intended.outcome({
    event: 'request',
    outcome: rare ? 'unknown' : 'ok',
    status: 200,
    upstreamStatus: 204,
    bytesSent: 120,
    durationMs: 31.2,
  });
}

function factsOf(number: number): AuditFacts {
  const rare = isRare(number);
  const device = rare ? 'rare-7' : `pe${number % 5_000}`;
  return {
    event: 'request',
    requestId: `0b1f6a52-3c39-4c8e-9c41-${String(number).padStart(12, '0')}`,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    principal: rare ? 'rare' : `user-${number % 200}`,
    roles: ['admin'],
    sourceAddress: '192.0.2.10',
    route: 'POST /orchestrator_manager/restAction/:adapterId',
    adapter: rare ? 'Rare' : `NSO ${number % 3}`,
    verb: 'POST',
    address: `restconf/data/tailf-ncs:devices/device=${device}/config/interface=GigabitEthernet0%2F0%2F${number % 48}`,
    ...(rare && { form: { id: 'rare-ports' } }),
    decision: 'allowed',
    rule: 'allowPaths.actions',
  };
}

async function bytesOf(database: Database, store: StoreOptions): Promise<number> {
  if (store.kind === 'sqlite') return filesOf(store.file).reduce((sum, { file }) => sum + statSync(file).size, 0);
  const { rows } = await sql<{
    readonly bytes: number;
  }>`select cast(pg_total_relation_size('audit_entry') + pg_total_relation_size('audit_term') as bigint) as bytes`.execute(
    database.read,
  );
  return rows[0]?.bytes ?? 0;
}
