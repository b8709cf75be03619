// suite: long

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Kysely, sql } from 'kysely';
import { verifyAudit } from '../src/audit/chain/audit-verification.ts';
import { noLog } from '../src/base/log.ts';
import { openDatabase, type StoreOptions } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { migrations } from '../src/database/migrations.ts';
import { createSessionDialect } from '../src/database/session-dialect.ts';
import { SqliteSessions } from '../src/database/sqlite/sqlite-sessions.ts';
import { filesOf, formerRunsFile } from '../src/database/store-part.ts';
import type { Tables } from '../src/database/tables/tables.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { earlierAnswers, earlierFiles, earlierStore } from './support/stores/earlier-store.ts';
import { eachStore, sqliteStore, storeUrl } from './support/stores/stores.ts';

// A store of an earlier version is taken over by the first start: docs/decisions/0040-two-files-plain-catalogue.md.

/** The tables that the file of runs had, in the order of their keys. */
const tables = {
  run: 'id',
  run_claim: 'run',
  run_text: 'run',
  run_state: 'run',
  run_value: 'run, id',
  run_task: 'run, activity',
  run_command: 'number',
  event_log: 'number',
  occurrence: 'automation_id, due',
  scheduled_run: 'automation_id',
  approval: 'id',
  approval_key: 'id',
  notification_receiver: 'id',
  notification: 'number',
  adapter_health: 'adapter',
} as const;

function rowsIn(file: string, table: string): readonly unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const statement = database.prepare(`select * from ${table} order by ${tables[table as keyof typeof tables] ?? '1'}`);
    return statement.all().map((row) => ({ ...row }));
  } finally {
    database.close();
  }
}

/** The rows with the columns that they had: later migrations add some. */
function formerly(rows: readonly unknown[], expected: readonly unknown[]): readonly unknown[] {
  const columns = Object.keys(expected[0] ?? {});
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, (row as Record<string, unknown>)[column]])));
}

/** Every row of the earlier file of runs, by its table. */
function rowsOfRuns(file: string): Readonly<Record<string, readonly unknown[]>> {
  return Object.fromEntries([...Object.keys(tables), 'sqlite_sequence'].map((table) => [table, rowsIn(file, table)]));
}

/** Members that an earlier gateway did not answer: of runs and their tasks, and of automations whose author the audit log has. */
const added =
  /,"involved":\[[^\]]*\][^\]]*\]|,"(?:owner|scheduledBy)":"admin-user"|,"automationName":"[^"]*"|,"noData":"removed"/gu;

function exportedAutomations(lines: string): string {
  return [...lines.matchAll(/^\{"kind":"automation","document":(.*)\}$/gmu)].map(([, document]) => `${document}\n`).join('');
}

/** So long that nothing of the store is over when the test runs. */
const years = '36500d';

function started(t: TestContext, store: StoreOptions): Promise<Gateway> {
  const config = { store: { url: storeUrl(store) }, audit: { retention: years }, automations: { retention: years } };
  return startGateway(t, { config });
}

eachStore((store) => {
  test('a store of an earlier version answers as before, verifies, and its runs go on', async (t) => {
    const { answers, runs } = earlierAnswers(store);
    const gateway = await started(t, await earlierStore(t, store));
    for (const [target, body] of Object.entries(answers)) {
      const readonly = target === 'readonly';
      const asked = { target: readonly ? '/automation_catalog/automations?limit=0' : target };
      const reply = await gateway.send({ ...asked, role: readonly ? 'readonly' : 'admin' });
      // An approval may have expired since.
      if (target === '/approvals') assert.equal((reply.json() as { readonly list: unknown[] }).list.length, 1);
      // The order of members is no promise.
      else if (target.startsWith('/runs/')) assert.deepEqual(JSON.parse(reply.text.replace(added, '')), JSON.parse(body), target);
      // Today's export has more kinds, and each line says its own.
      else if (target.endsWith('/export')) assert.equal(exportedAutomations(reply.text).replace(added, ''), body, target);
      else assert.equal(reply.text.replace(added, ''), body, target);
    }
    const caller = runCaller(() => gateway, gateway.basicFor('admin'));
    const event = { specversion: '1.0', id: 'go', source: 'urn:test', type: 'net.example.go' };
    const headers = { 'content-type': 'application/cloudevents+json' };
    const body = JSON.stringify(event);
    const sent = await gateway.send({ method: 'POST', target: '/events', role: 'admin', headers, body });
    assert.equal(sent.status, 204, sent.text);
    await caller.reaches(runs.waiting, 'completed');
    const list = await gateway.send({ target: '/automation_catalog/automations?author=admin-user&limit=0', role: 'admin' });
    assert.equal((list.json() as { readonly total: number }).total, 7, 'without the four that were imported');
    assert.equal((await caller.change(runs.suspended, 'resume')).status < 300, true);
    await caller.reaches(runs.suspended, 'waiting');
  });

  test('a store of an earlier version keeps its records, its keys, and the numbers of its events', async (t) => {
    const options = await earlierStore(t, store);
    const before = options.kind === 'sqlite' ? rowsOfRuns(earlierFiles(options.file).runs) : undefined;
    const database = await store.open(t, options);
    assert.deepEqual((await verifyAudit(database)).problems, []);
    const count = async (table: 'idempotency_key' | 'audit_entry' | 'notification' | 'event_log'): Promise<number> =>
      (await database.read.selectFrom(table).select(sql<number>`cast(count(*) as bigint)`.as('rows')).executeTakeFirstOrThrow())
        .rows;
    assert.equal(await count('idempotency_key'), 1);
    assert.ok((await count('audit_entry')) > 20);
    assert.ok((await count('notification')) > 2);
    const { number: last } = await database.records
      .selectFrom('event_log')
      .select('number')
      .orderBy('number', 'desc')
      .executeTakeFirstOrThrow();
    await database.records.deleteFrom('event_log').execute();
    await sql`insert into event_log (at, kind, event) values (1, 'message', '{}')`.execute(database.records);
    const { number } = await database.records.selectFrom('event_log').select('number').executeTakeFirstOrThrow();
    assert.equal(number, last + 1);
    if (before === undefined) return;
    const { applied_at: since } = await database.records
      .selectFrom('schema_migration')
      .select('applied_at')
      .where('number', '=', 10)
      .executeTakeFirstOrThrow();
    assert.ok(since < Date.parse('2026-11-27'), 'times that were due before the tables of schedules do not run');
  });
});

/** Starts and is killed after migrations of the given numbers. */
async function killedAfter(t: TestContext, store: StoreOptions, most: number): Promise<void> {
  assert.ok(store.kind === 'sqlite');
  for (const { part, file } of filesOf(store.file)) {
    const attached = { file: earlierFiles(store.file).runs, name: 'former_runs' };
    const sessions = new SqliteSessions({ file, kind: 'write', cache: 2_048, attached });
    t.after(() => sessions.close());
    const query = new Kysely<Tables>({ dialect: createSessionDialect('sqlite', sessions) });
    await migrate({ query, dialect: 'sqlite', part, migrations: migrations.filter(({ number }) => number <= most) });
    await sessions.close();
  }
}

test('a take-over on SQLite that was killed goes on at the next start, wherever it was, and the third file goes last', async (t) => {
  for (const most of [13, 14, 15, undefined]) {
    const store = await earlierStore(t, sqliteStore);
    assert.ok(store.kind === 'sqlite');
    const { audit, runs } = earlierFiles(store.file);
    const before = rowsOfRuns(runs);
    if (most !== undefined) await killedAfter(t, store, most);
    assert.deepEqual(rowsOfRuns(runs), before);
    const database = await openDatabase({ store, log: noLog });
    const { automations } = await database.read
      .selectFrom('automation')
      .select(sql<number>`count(*)`.as('automations'))
      .executeTakeFirstOrThrow();
    assert.equal(automations, 11);
    await database.close();
    for (const [table, expected] of Object.entries(before))
      assert.deepEqual(formerly(rowsIn(audit, table), expected), expected, table);
    for (const file of [runs, `${runs}-wal`, `${runs}-shm`]) assert.equal(existsSync(file), false);
  }
});

test('a file of runs that is not of the store is refused and kept, and an empty one goes', async (t) => {
  const store = await earlierStore(t, sqliteStore);
  assert.ok(store.kind === 'sqlite');
  const { runs } = earlierFiles(store.file);
  await (await openDatabase({ store, log: noLog })).close();
  await writeFile(runs, '');
  await (await openDatabase({ store, log: noLog })).close();
  assert.equal(existsSync(runs), false);
  const other = new DatabaseSync(runs);
  other.exec('create table schema_migration (number integer, name text, applied_at bigint)');
  other.exec("insert into schema_migration values (7, 'run-facts', 1)");
  other.close();
  await assert.rejects(openDatabase({ store, log: noLog }), /gateway\.runs\.db is not what this store was made from/u);
  assert.equal(existsSync(runs), true);
});

/** The migrations of the former third file. */
const ofRuns: ReadonlySet<number> = new Set([7, 9, 10, 12, 13]);

for (const last of [6, 7, 8, 9, 10, 12, 13])
  test(`a SQLite store of schema ${last} is taken over`, async (t) => {
    const store = await sqliteStore.fresh(t);
    assert.ok(store.kind === 'sqlite');
    const third = formerRunsFile(store.file);
    for (const { part, file } of [...filesOf(store.file), { part: 'records', file: third } as const]) {
      const sessions = new SqliteSessions({ file, kind: 'write', cache: 2_048 });
      const query = new Kysely<Tables>({ dialect: createSessionDialect('sqlite', sessions) });
      const known = migrations.filter(({ number }) => number <= last && ofRuns.has(number) === (file === third));
      await migrate({ query, dialect: 'sqlite', part, migrations: known });
      await sessions.close();
    }
    const database = await openDatabase({ store, log: noLog });
    await database.close();
    assert.equal(existsSync(third), false);
  });
