// suite: long

import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { noLog } from '../src/base/log.ts';
import { openDatabase, type StoreOptions } from '../src/database/database.ts';
import { minorNumber } from '../src/database/row-version.ts';
import { filesOf } from '../src/database/store-part.ts';
import { assertProblem, post } from './support/callers/calls.ts';
import { command } from './support/gateway/command.ts';
import { nextMinorVersion, programOfVersion } from './support/gateway/other-version.ts';
import { configurationOf, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { actionTask, type RunCaller } from './support/runs/run-caller.ts';
import { adminAt, runGateway, runStage } from './support/runs/run-stage.ts';
import { oldStore } from './support/stores/earlier-store.ts';
import { eachStore, sqliteStore, storeUrl } from './support/stores/stores.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';

// Upgrades and ways back: docs/guides/upgrading.md. The next version is this program with a higher number, or is played by its migrations.

/** What the next version adds: a table, and a column to tables of both parts. Rows of this version leave the column empty. */
const future = ['create table future_thing (id integer primary key)', 'alter table automation add column future text'];
const futureOfRecords = ['alter table run_claim add column future text'];

async function migrateAsLater(store: StoreOptions, lowest: string): Promise<void> {
  const row = `insert into schema_migration (number, name, applied_at, lowest) values (900, 'future', 1, '${lowest}')`;
  if (store.kind === 'postgres') {
    const client = new Client({ connectionString: store.url.reveal() });
    await client.connect();
    for (const statement of [...future, ...futureOfRecords, row]) await client.query(statement);
    await client.end();
    return;
  }
  const [main, records] = filesOf(store.file);
  for (const [{ file }, statements] of [
    [main, future],
    [records, futureOfRecords],
  ] as const) {
    const database = new DatabaseSync(file);
    for (const statement of [...statements, row]) database.exec(statement);
    database.close();
  }
}

/** Runs of a gateway on this store, to their end. */
async function assertWorks(t: TestContext, url: string): Promise<void> {
  const { caller, far, gateway } = await runStage(t, { url });
  const automation = await caller.automation(`a-${Date.now()}`, [actionTask('one', '"x/1"')]);
  const run = await caller.start(automation, {});
  await caller.reaches(run.id, 'completed');
  assert.equal(far.arrived.get('x/1'), 1);
  assert.equal(await gateway.stop('SIGTERM'), 0);
}

eachStore((store) => {
  test('a gateway works on the store of the next minor version, and a later one needs no step back', async (t) => {
    const options = await store.fresh(t);
    await (await openDatabase({ store: options, log: noLog })).close();
    await migrateAsLater(options, '0.1.0');
    await assertWorks(t, storeUrl(options));
    await (await openDatabase({ store: options, log: noLog, asItIs: true })).close();
  });

  test('a store two minor versions newer is refused with one line that names the version', async (t) => {
    const options = await store.fresh(t);
    await (await openDatabase({ store: options, log: noLog })).close();
    await migrateAsLater(options, '0.99.0');
    const config = { store: { url: storeUrl(options), startTimeout: 0 } };
    const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({ config })));
    const { code, stderr } = await command(['serve', '--config', file]);
    assert.equal(code, 1);
    const lines = stderr
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{'));
    assert.equal(lines.length, 1, stderr);
    assert.match(
      lines[0] ?? '',
      /it did not start: The store is at schema 900, and needs version 0\.99\.0 or later of the gateway; this is/u,
    );
  });
});

test('two neighbouring versions work on one PostgreSQL at the same time, and no action is sent twice', async (t) => {
  const { foundPostgres } = await import('./support/stores/stores.ts');
  if (foundPostgres === undefined) return t.skip('no PostgreSQL answers');
  const options = await foundPostgres.fresh(t);
  const url = storeUrl(options);
  const { far, gateway, caller } = await runStage(t, { url });
  const automation = await caller.automation('side-by-side', [actionTask('one', '$workflow.input.run')]);
  const start = (count: number, name: string) =>
    Promise.all(Array.from({ length: count }, (_, at) => caller.start(automation, { input: { run: `${name}/${at}` } })));
  const before = await start(10, 'before');
  // The later version migrates while this one runs, and both work on.
  await migrateAsLater(options, '0.1.0');
  const other = await runGateway(t, far, { url, name: 'other' });
  const after = await start(20, 'after');
  for (const { id } of [...before, ...after]) await caller.reaches(id, 'completed');
  assert.deepEqual(
    [...far.arrived.values()].filter((times) => times !== 1),
    [],
  );
  assert.equal(far.arrived.size, 30);
  assert.equal(await gateway.stop('SIGTERM'), 0);
  const there = await adminAt(other);
  await there.reaches((await there.start(automation, { input: { run: 'last' } })).id, 'completed');
});

test('the next version comes next to this one and goes back under load: nothing is lost, and nothing is done twice', async (t) => {
  const { foundPostgres } = await import('./support/stores/stores.ts');
  if (foundPostgres === undefined) return t.skip('no PostgreSQL answers');
  const options = await foundPostgres.fresh(t);
  const url = storeUrl(options);
  const next = nextMinorVersion();
  const { far, gateway, caller } = await runStage(t, { url });
  const number = (step: number): string => `$workflow.input.run + "/${step}"`;
  const wait = { wait: { wait: { milliseconds: 100 } } };
  const plain = await caller.automation('plain', [actionTask('one', number(1)), wait, actionTask('two', number(2))]);
  const go = { go: { listen: { to: { one: { with: { type: 'net.example.go' } } } } } };
  const newer = await caller.automation('newer', [actionTask('one', number(1)), go, actionTask('two', number(2))]);
  const begun: Record<'plain' | 'newer', string[]> = { plain: [], newer: [] };
  const load = async (there: RunCaller, kind: 'plain' | 'newer', name: string) => {
    for (let at = 0; at < 15; at += 1) {
      const run = await there.start(kind === 'plain' ? plain : newer, { input: { run: `${kind}/${name}/${at}` } });
      begun[kind].push(run.id);
    }
  };
  await load(caller, 'plain', 'before');
  await migrateAsLater(options, '0.1.0');
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`update workflow set lowest = ${minorNumber(next)} where id = 'crash.newer'`);
  await client.end();
  const later = await runGateway(t, far, { url, name: 'later', program: programOfVersion(t, next) });
  const there = await adminAt(later);
  await Promise.all([load(caller, 'plain', 'here'), load(there, 'plain', 'there'), load(there, 'newer', 'there')]);
  const target = `/automation_catalog/automations/${newer}/run`;
  assertProblem(await post(gateway, target, { input: { run: 'newer/refused' } }), 409, 'newer-version-needed');
  // Back: this version goes on alone, without the runs that only the next one understands.
  const more = load(caller, 'plain', 'back');
  assert.equal(await later.stop('SIGTERM'), 0);
  await more;
  for (const id of begun.plain) await caller.reaches(id, 'completed');
  const event = { specversion: '1.0', id: 'go', source: 'urn:test', type: 'net.example.go' };
  for (const id of begun.newer) assert.notEqual((await caller.read(id)).status, 'completed');
  // Forward again.
  const again = await adminAt(await later.restart());
  for (const id of begun.newer) await again.reaches(id, 'waiting');
  const headers = { 'Content-Type': 'application/cloudevents+json' };
  await until('every run has its event', async () => {
    // One event is for one listen of a run: those that listen now take it.
    const sent = { ...event, id: `go-${Math.random()}` };
    assert.equal((await post(gateway, '/events', sent, { headers })).status, 204);
    const left = await Promise.all(begun.newer.map((id) => again.read(id)));
    return left.every(({ status }) => status === 'completed');
  });
  assert.equal(far.arrived.size, 2 * (begun.plain.length + begun.newer.length));
  assert.deepEqual(
    [...far.arrived].filter(([, times]) => times !== 1),
    [],
  );
  const misplaced = far.arrivals.filter(({ action, from }) => action.startsWith('newer/') && from !== 'later');
  assert.deepEqual(misplaced, []);
  assert.equal(await gateway.stop('SIGTERM'), 0);
});

test('a start that migrates a SQLite store first writes a backup next to it, from which the earlier store comes back', async (t) => {
  const options = await oldStore(t, sqliteStore);
  assert.ok(options.kind === 'sqlite');
  const folder = join(options.file, '..');
  const before = new DatabaseSync(options.file, { readOnly: true });
  const applied = before.prepare('select count(*) as count from schema_migration').get()?.['count'];
  before.close();
  const gateway = await startGateway(t, { config: { store: { url: `sqlite:${options.file}` } } });
  const backups = readdirSync(folder).filter((name) => name.endsWith('.backup'));
  assert.equal(backups.length, 1, readdirSync(folder).join());
  const backup = join(folder, backups[0] ?? '');
  assert.equal(statSync(backup).mode & 0o777, 0o600);
  await gateway.stop();
  const config = { store: { url: 'sqlite:./came-back.db' } };
  const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({ config })));
  const restored = await command(['restore', backup, '--config', file]);
  assert.equal(restored.code, 0, restored.stderr);
  const back = new DatabaseSync(join(file, '../came-back.db'), { readOnly: true });
  assert.equal(back.prepare('select count(*) as count from schema_migration').get()?.['count'], applied);
  back.close();
  // A start that has nothing to migrate writes none.
  const again = await startGatewayProcess(t, { config: { store: { url: `sqlite:${options.file}` } } });
  assert.equal(await again.stop('SIGTERM'), 0);
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.backup')).length, 1);
});
