// suite: long

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { assertProblem } from './support/callers/calls.ts';
import { smallDisk } from './support/faults/small-disk.ts';
import { command } from './support/gateway/command.ts';
import { configurationOf, type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { countingUpstream } from './support/runs/counting-upstream.ts';
import { readStream } from './support/runs/read-stream.ts';
import { actionTask } from './support/runs/run-caller.ts';
import { adminAt, runStage } from './support/runs/run-stage.ts';
import { oldStore } from './support/stores/earlier-store.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { sqliteStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// The commands backup, restore and mark-restored: docs/guides/upgrading.md.

interface LostStore {
  readonly store: { readonly lost?: { readonly records: number } };
}

async function isLost(gateway: GatewayProcess): Promise<boolean> {
  const { store } = (await gateway.send({ target: '/readyz' })).json() as LostStore;
  return store.lost !== undefined;
}

/** How many losses the newest records of the audit log tell of. */
async function lossesOf(gateway: GatewayProcess): Promise<number> {
  const { list } = (await gateway.send({ role: 'admin', target: '/audit?limit=1000' })).json() as {
    readonly list: readonly { readonly event: string }[];
  };
  return list.filter(({ event }) => event === 'lost').length;
}

async function release(gateway: GatewayProcess): Promise<unknown> {
  const body = JSON.stringify({ reason: 'The devices were looked at.' });
  const headers = { 'content-type': 'application/json' };
  return (await gateway.send({ method: 'POST', target: '/runs/release', role: 'admin', headers, body })).json();
}

function folder(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const made = mkdtempSync(join(tmpdir(), 'backup-test-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

/** Writes the catalogue and the audit log, one after the other, until the result is called. Answers how many were written. */
function load(gateway: GatewayProcess): () => Promise<number> {
  let count = 0;
  const stopping = new AbortController();
  const writing = (async () => {
    while (!stopping.signal.aborted) {
      const document = { dsl: '1.0.3', namespace: 'load', name: `one-${count}`, version: '1.0.0' };
      const reply = await gateway.send({
        role: 'admin',
        method: 'POST',
        target: '/automation_catalog/workflows',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ document, do: [{ first: { set: { done: true } } }] }),
      });
      assert.equal(reply.status, 201, reply.text);
      count += 1;
    }
  })();
  return async () => {
    stopping.abort();
    await writing;
    return count;
  };
}

test('a backup under load is one private file, and the restored store holds its runs until people release them', async (t) => {
  const { far, gateway, caller } = await runStage(t);
  const automation = await caller.automation('later', [{ before: { wait: { seconds: 3 } } }, actionTask('one', '"x/1"')]);
  const run = await caller.start(automation, {});
  const stop = load(gateway);
  await until('the load writes', async () => (await caller.list()).length > 0);
  const config = join(gateway.directory, 'gateway.yaml');
  const made = await command(['backup', 'one.backup', '--config', config], { directory: gateway.directory });
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /^one\.backup: \d+\.\d MiB\n$/u);
  const written = await stop();
  assert.ok(written > 0);
  const file = join(gateway.directory, 'one.backup');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(
    readdirSync(gateway.directory).filter((name) => name.startsWith('.backup-')),
    [],
  );
  const again = await command(['backup', 'one.backup', '--config', config], { directory: gateway.directory });
  assert.equal(again.code, 1);
  assert.match(again.stderr, /one\.backup exists, and is not overwritten/u);
  await far.reaches(1);
  await caller.reaches(run.id, 'completed');
  assert.equal(await gateway.stop('SIGTERM'), 0);

  const elsewhere = folder(t, { 'gateway.yaml': readFileSync(config, 'utf8') });
  const restored = await command(['restore', file], { directory: elsewhere });
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stdout, /written by version \d+\.\d+\.\d+, is restored/u);
  assert.ok(existsSync(join(elsewhere, 'gateway.db.key')));
  assert.deepEqual(
    readdirSync(elsewhere).filter((name) => name.endsWith('.restoring')),
    [],
  );
  for (const name of ['gateway.db', 'gateway.audit.db', 'gateway.db.key'])
    assert.equal(statSync(join(elsewhere, name)).mode & 0o777, 0o600, name);
  const later = await startGatewayProcess(t, {
    config: { store: { url: `sqlite:${join(elsewhere, 'gateway.db')}` } },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
  });
  await until('the store is marked as lost', () => isLost(later));
  const there = await adminAt(later);
  const held = await there.reaches(run.id, 'suspended');
  assert.equal(held.suspendedBy, 'store-loss');
  assert.equal(far.arrived.get('x/1'), 1, 'the restored gateway did nothing');
  assert.deepEqual(await release(later), { released: 1 });
  // The wait goes on. The first action after the release may have happened before, so people decide.
  await until('people decide', async () => (await there.read(run.id)).suspendedBy === 'unknown-outcome');
  const verified = await command(['audit', 'verify', '--config', join(later.directory, 'gateway.yaml')]);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  assert.match(verified.stderr, /the store lost records/u);
});

test('a store that was restored from a backup under load is marked as lost once: its approvals end, and log and events tell of it', async (t) => {
  const { url } = await countingUpstream(t);
  const approvals = [{ name: 'approved', when: { paths: ['**/approved'] }, approvers: { groups: ['noc-leads'] } }];
  const adapters = [{ name: 'Far', kind: 'rest', url }];
  const gateway = await startGatewayProcess(t, { config: { approvals }, adapters });
  const stop = load(gateway);
  const refused = await gateway.send({
    role: 'admin',
    method: 'POST',
    target: '/orchestrator_manager/restAction/Far',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ params: { path: '/approved', accept: 'application/json' }, body: {} }),
  });
  const { approval } = assertProblem(refused, 403, 'approval-required');
  const made = await command(['backup', 'one.backup'], { directory: gateway.directory });
  assert.equal(made.code, 0, made.stderr);
  assert.ok((await stop()) > 0);
  assert.equal(await gateway.stop('SIGTERM'), 0);

  const elsewhere = folder(t, { 'gateway.yaml': JSON.stringify(configurationOf({})) });
  const restored = await command(['restore', join(gateway.directory, 'one.backup')], { directory: elsewhere });
  assert.equal(restored.code, 0, restored.stderr);
  const config = { approvals, store: { url: `sqlite:${join(elsewhere, 'gateway.db')}` } };
  const later = await startGatewayProcess(t, { config, adapters });
  await until('the store is marked as lost', () => isLost(later));
  const seen = (await later.send({ role: 'admin', target: approval?.href ?? '' })).json() as { readonly status: string };
  assert.equal(seen.status, 'expired');
  await until('the audit log tells of it', async () => (await lossesOf(later)) > 0);
  const stream = await readStream(t, later, { as: later.basicFor('admin'), target: '/events', after: '0' });
  const told = await until('an event tells of it', () => stream.events.find(({ type }) => type.endsWith('store.lost.v1')));
  assert.match(told.data, /"records":0/u);

  assert.deepEqual(await release(later), { released: 0 });
  await until('people have released it', async () => !(await isLost(later)));
  await later.stop('SIGTERM');
  const again = await later.restart();
  assert.ok(!(await isLost(again)), 'the mark counts once');
  assert.equal(await lossesOf(again), 1);
});

test('a backup holds both files at one moment: each automation of a run is in it with its run', async (t) => {
  const { gateway, caller } = await runStage(t);
  const stop = load(gateway);
  const backups = [];
  for (const name of ['1.backup', '2.backup', '3.backup']) {
    const automation = await caller.automation(`before-${name[0]}`, [{ before: { wait: { hours: 1 } } }]);
    await caller.start(automation, {});
    const { code, stderr } = await command(['backup', name], { directory: gateway.directory });
    assert.equal(code, 0, stderr);
    backups.push(join(gateway.directory, name));
  }
  await stop();
  for (const [index, file] of backups.entries()) {
    const elsewhere = folder(t, { 'gateway.yaml': JSON.stringify(configurationOf({})) });
    assert.equal((await command(['restore', file], { directory: elsewhere })).code, 0);
    const main = new DatabaseSync(join(elsewhere, 'gateway.db'), { readOnly: true });
    const records = new DatabaseSync(join(elsewhere, 'gateway.audit.db'), { readOnly: true });
    const count = (database: DatabaseSync, table: string): unknown =>
      database.prepare(`select count(*) as count from ${table}`).get()?.['count'];
    assert.equal(count(main, 'automation'), index + 1);
    assert.equal(count(records, 'run_claim'), index + 1);
    main.close();
    records.close();
  }
});

test('restore refuses a store that exists, a running gateway, a damaged backup and another file, and leaves nothing', async (t) => {
  const directory = folder(t, { 'gateway.yaml': JSON.stringify(configurationOf({})), other: 'no backup' });
  const gateway = await startGatewayProcess(t);
  assert.equal((await command(['backup', join(directory, 'good')], { directory: gateway.directory })).code, 0);
  const running = await command(['restore', join(directory, 'good')], { directory: gateway.directory });
  assert.match(running.stderr, /A gateway has the store .*: stop it first\.\n$/u);
  await gateway.stop('SIGTERM');
  const there = await command(['restore', join(directory, 'good')], { directory: gateway.directory });
  assert.equal(there.code, 1);
  assert.match(there.stderr, /^orchestration-gateway restore: There is a store already, with .*: move the files/u);
  const another = await command(['restore', 'other'], { directory });
  assert.match(another.stderr, /other is no backup of a gateway, or a damaged one/u);
  cpSync(join(directory, 'good'), join(directory, 'bad'));
  const bad = new DatabaseSync(join(directory, 'bad'));
  bad.exec("update part set sha256 = 'x' where name = 'main'");
  bad.close();
  const damaged = await command(['restore', 'bad'], { directory });
  assert.match(damaged.stderr, /The backup is damaged: .*Nothing was restored/u);
  assert.deepEqual(readdirSync(directory).toSorted(), ['bad', 'gateway.db.lock', 'gateway.yaml', 'good', 'other']);
});

test('a backup of a missing store, into a missing folder and of PostgreSQL says what to do', async (t) => {
  const directory = folder(t, { 'gateway.yaml': JSON.stringify(configurationOf({})) });
  const missing = await command(['backup', 'a'], { directory });
  assert.deepEqual([missing.code, readdirSync(directory)], [1, ['gateway.yaml']]);
  assert.match(missing.stderr, /^orchestration-gateway backup: There is no store at .*gateway\.db/u);
  mkdirSync(join(directory, 'pg'));
  const store = { url: 'postgres://gateway@127.0.0.1:1/none' };
  writeFileSync(join(directory, 'pg/gateway.yaml'), JSON.stringify(configurationOf({ config: { store } })));
  const postgres = await command(['backup', 'a'], { directory: join(directory, 'pg') });
  assert.equal(postgres.code, 1);
  assert.match(postgres.stderr, /on PostgreSQL, and this command is for SQLite: back up the store with pg_dump/u);
});

test('a PostgreSQL store from pg_dump that is marked as restored holds its runs', { skip: noOwnPostgres }, async (t) => {
  const postgres = await ownPostgres(t);
  const { far, gateway, caller } = await runStage(t, { url: postgres.url });
  const automation = await caller.automation('later', [{ before: { wait: { seconds: 2 } } }, actionTask('one', '"x/1"')]);
  const run = await caller.start(automation, {});
  const file = join(gateway.directory, 'store.dump');
  const other = postgres.url.replace(/\/[^/?]*(\?|$)/u, '/restored$1');
  await promisify(execFile)('pg_dump', ['-Fc', '-f', file, postgres.url]);
  await far.reaches(1);
  await promisify(execFile)('psql', [postgres.url, '-qc', 'create database restored']);
  await promisify(execFile)('pg_restore', ['-d', other, file]);
  const config = { store: { url: other } };
  const adapters = [{ name: 'Far', kind: 'rest', url: far.url }];
  const directory = folder(t, { 'gateway.yaml': JSON.stringify(configurationOf({ config, adapters })) });
  const marked = await command(['mark-restored'], { directory });
  assert.equal(marked.code, 0, marked.stderr);
  const later = await startGatewayProcess(t, { config, adapters });
  assert.equal((await (await adminAt(later)).reaches(run.id, 'suspended')).suspendedBy, 'store-loss');
  assert.equal(far.arrived.get('x/1'), 1);
});

test('a start that would migrate a SQLite store without room for a backup is refused, and the store is as it was', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip('it needs a mount');
  const options = await oldStore(t, sqliteStore);
  assert.ok(options.kind === 'sqlite');
  cpSync(options.file, join(disk.directory, 'gateway.db'));
  const before = readFileSync(join(disk.directory, 'gateway.db'));
  writeFileSync(join(disk.directory, 'gateway.yaml'), JSON.stringify(configurationOf({})));
  const { code, stderr } = await command(['serve'], { directory: disk.directory });
  assert.equal(code, 1);
  assert.match(stderr, /did not start: There is no room for the backup .*: it needs \d+ MiB, and \d+ MiB are free\./u);
  assert.ok(readFileSync(join(disk.directory, 'gateway.db')).equals(before));
});
