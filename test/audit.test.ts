import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, relay } from './support/callers/calls.ts';
import { makeReadOnly, smallDisk } from './support/faults/small-disk.ts';
import { loginAt, command as runCommand } from './support/gateway/command.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { until } from './support/until.ts';
import { jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// The audit log as a whole: its chain, and a store that cannot be written. The records are in audit-outcomes.test.ts.

interface Listing {
  readonly list: readonly AuditRecord[];
  readonly cursor?: string;
}

const json = 'application/json';

async function start(t: TestContext, config: object = {}): Promise<{ readonly far: Upstream; readonly gateway: Gateway }> {
  const far = await upstream(t);
  const gateway = await startGateway(t, {
    config: { outbound: { allow: [far.authority] }, ...config },
    adapters: [
      {
        name: 'NSO',
        kind: 'rest',
        url: far.url,
        denyPaths: { actions: ['secret/**'], queries: [] },
        timeouts: { firstByte: '300ms' },
      },
    ],
  });
  return { far, gateway };
}

async function audit(gateway: Gateway, query = ''): Promise<Listing> {
  const reply = await gateway.send({ target: `/audit${query}`, role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Listing;
}

test('R95: the command line lists and verifies the log, with a checkpoint file elsewhere, and names an entry that was changed', async (t) => {
  const { gateway } = await start(t, { audit: { checkpointFile: 'checkpoints' } });
  await relay(gateway, 'restAction', 'NSO', { params: { path: 'x', accept: json }, body: {} });
  const command = (...argv: readonly string[]) =>
    runCommand([...argv, '--config', gateway.configFile], { directory: gateway.directory });
  await until('its outcome is on record', async () => (await audit(gateway, '?adapter=NSO')).list[0]?.outcome === 'ok');
  const list = (...filter: readonly string[]) => runCommand(['audit', 'list', ...filter], { environment: loginAt(gateway) });
  const listed = await list('--limit', 'all', '--adapter', 'NSO');
  assert.equal(listed.code, 0, listed.stderr);
  assert.deepEqual(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as AuditRecord).outcome),
    ['ok'],
  );
  assert.equal((await list('--outcome', 'good')).code, 2);
  assert.equal((await command('audit', 'verify')).code, 0);
  await gateway.stop();
  const file = join(gateway.directory, 'checkpoints');
  assert.equal((await readFile(file, 'utf8')).trim().split('\n').length, 3);
  const verified = await command('audit', 'verify', '--checkpoints', file);
  assert.deepEqual([verified.code, verified.stdout], [0, '']);
  const database = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
  database.exec(
    "update audit_entry set facts = replace(facts, 'admin-user', 'other-user'), principal = 'other-user' where seq = 2",
  );
  database.close();
  const tampered = await command('audit', 'verify', '--checkpoints', file);
  assert.equal(tampered.code, 1);
  assert.match(tampered.stdout, /^\S+\/2 was changed\n$/);
});

test('R73: a full disk makes the gateway refuse changes before they are sent, until there is room again', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.skip('this user may not mount');
    return;
  }
  const { far, gateway } = await start(t, { store: { url: `sqlite:${join(disk.directory, 'gateway.db')}` } });
  const bearer = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  const act = () => relay(gateway, 'restAction', 'NSO', { params: { path: 'x', accept: json }, body: {} }, { headers: bearer });
  const query = () => relay(gateway, 'restQuery', 'NSO', { params: { path: 'x', accept: json } }, { headers: bearer });
  assert.equal((await act()).status, 200);
  disk.fill();
  far.answer(() => jsonReply('{}'));
  let refused = await act();
  // Some pages of the file may still be free.
  for (let attempt = 0; attempt < 200 && refused.status === 200; attempt += 1) {
    far.answer(() => jsonReply('{}'));
    refused = await act();
  }
  assertProblem(refused, 503, 'audit-unavailable');
  assert.equal(far.requests.length, 0);
  assert.equal((await query()).status, 200);
  disk.makeRoom();
  await until('an action succeeds', async () => (await act()).status === 200);
  const verified = await runCommand(['audit', 'verify', '--config', gateway.configFile], { directory: gateway.directory });
  assert.equal(verified.code, 0, verified.stdout);
});

test('R73: a read-only audit file makes the gateway refuse changes before they are sent, until it is writable', async (t) => {
  const { far, gateway: first } = await start(t);
  await first.stop();
  const file = makeReadOnly(join(first.directory, 'gateway.audit.db'));
  if (file === undefined) {
    t.skip('a file cannot be made immutable here');
    return;
  }
  try {
    const gateway = await first.restart();
    const act = () => relay(gateway, 'restAction', 'NSO', { params: { path: 'x', accept: json }, body: {} });
    assert.match(assertProblem(await act(), 503, 'audit-unavailable').detail, /can only be read/u);
    assert.equal(far.requests.length, 0);
    far.answer(() => jsonReply('{}'));
    assert.equal((await relay(gateway, 'restQuery', 'NSO', { params: { path: 'q', accept: json } })).status, 200);
    assert.equal((await gateway.send({ target: '/readyz' })).status, 200);
    file.makeWritable();
    far.answer(() => jsonReply('{}'));
    await until('an action succeeds', async () => (await act()).status === 200);
  } finally {
    file.makeWritable();
  }
});

test('a PostgreSQL that stops makes the gateway refuse changes before they are sent, and earlier outcomes are kept', {
  skip: noOwnPostgres,
}, async (t) => {
  const postgres = await ownPostgres(t);
  const { far, gateway } = await start(t, { store: { url: postgres.url } });
  const bearer = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  const act = (path: string) =>
    relay(gateway, 'restAction', 'NSO', { params: { path, accept: json }, body: {} }, { headers: bearer });
  far.answer(async () => {
    await postgres.stop('immediate');
    return jsonReply('{}');
  });
  // This action was sent before the store stopped: its caller gets an answer, and the outcome is recorded later.
  const slow = await act('before').catch(() => undefined);
  assert.ok(slow !== undefined);
  far.answer(() => jsonReply('{}'));
  assertProblem(await act('refused'), 503, 'audit-unavailable');
  assert.equal(far.requests.length, 0);
  await postgres.start();
  await until('an action succeeds', async () => (await act('after')).status === 200);
  await until('every outcome is on record', async () =>
    (await audit(gateway, '?adapter=NSO')).list.every(({ outcome }) => outcome !== undefined),
  );
  const outcomes = new Map((await audit(gateway, '?adapter=NSO')).list.map(({ address, outcome }) => [address, outcome]));
  assert.equal(outcomes.get('after'), 'ok');
  assert.equal(outcomes.get('before'), slow.status === 200 ? 'ok' : 'unknown');
  assert.notEqual(outcomes.get('refused'), 'ok');
});

test('a change is permitted by the step that puts calls on record alone', async () => {
  const permitting: string[] = [];
  for await (const file of glob('src/**/*.ts')) {
    if (!file.endsWith('.test.ts') && /\.permitChange\(/u.test(await readFile(file, 'utf8'))) permitting.push(file);
  }
  assert.deepEqual(permitting.toSorted(), ['src/calls/send-recorded.ts']);
});
