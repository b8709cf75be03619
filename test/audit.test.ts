import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, pointersOf, relay, restCall } from './support/callers/calls.ts';
import { type FarSide, farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { makeReadOnly, smallDisk } from './support/faults/small-disk.ts';
import { command as runCommand } from './support/gateway/command.ts';
import { type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { until } from './support/until.ts';

// Contract 11; issue 6, points 1 to 4.

interface Listing {
  readonly list: readonly AuditRecord[];
  readonly cursor?: string;
}

const json = 'application/json';

async function start(t: TestContext, config: object = {}): Promise<{ readonly far: FarSide; readonly gateway: Gateway }> {
  const far = await farSide(t);
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

/** The records of requests, newest first; what is written behind its call is there within a second. */
async function records(gateway: Gateway, count: number, query = '?limit=1000'): Promise<readonly AuditRecord[]> {
  for (let attempt = 0; ; attempt += 1) {
    const found = (await audit(gateway, query)).list.filter(({ event, route }) => event === 'request' && route !== 'GET /audit');
    if (found.length >= count || attempt > 100) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('an action is on record: who, what, why it was allowed, what came of it', async (t) => {
  const { far, gateway } = await start(t);
  far.answer(() => jsonReply('{"done":1}'));
  const params = { path: 'a/b?token=s3cret&depth=2&bare', accept: json };
  const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
  const reply = await relay(
    gateway,
    'restAction',
    'NSO',
    { params, body: { a: 1.5 } },
    { headers: { traceparent, 'X-Request-Id': 'me-1' } },
  );
  assert.equal(reply.status, 200);
  // Not a moment later: the caller was told only once this was on record.
  const [record] = (await audit(gateway, '?adapter=NSO')).list;
  const { id, time, durationMs, ...rest } = record ?? ({} as AuditRecord);
  assert.match(id, /^\w+-\w+\/\d+$/);
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000 && durationMs !== undefined && durationMs > 0);
  assert.deepEqual(rest, {
    event: 'request',
    requestId: 'me-1',
    traceId: '0123456789abcdef0123456789abcdef',
    principal: 'admin-user',
    roles: ['admin'],
    sourceAddress: '127.0.0.1',
    route: 'POST /orchestrator_manager/restAction/:adapterId',
    adapter: 'NSO',
    verb: 'POST',
    address: 'a/b?token=***&depth=***&***',
    decision: 'allowed',
    rule: 'allowPaths.actions',
    attempts: 1,
    bytesSent: 9,
    bytesReceived: 10,
    upstreamStatus: 200,
    status: 200,
    outcome: 'ok',
  });
});

test('an action is recorded and answered at once while something holds the only writer of the catalogue', async (t) => {
  const { far, gateway } = await start(t);
  const headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  far.answer(() => jsonReply('{}'));
  const held = new DatabaseSync(join(gateway.directory, 'gateway.db'));
  t.after(() => held.close());
  held.exec('begin immediate');
  const began = performance.now();
  const reply = await relay(gateway, 'restAction', 'NSO', { params: { path: 'x', accept: json }, body: {} }, { headers });
  const took = performance.now() - began;
  assert.equal(reply.status, 200, reply.text);
  // SQLite would wait for five seconds for the lock.
  assert.ok(took < 2_000, `${took} ms`);
  const reading = await gateway.send({ target: '/audit?adapter=NSO', headers });
  assert.equal((reading.json() as Listing).list[0]?.outcome, 'ok');
  held.exec('rollback');
});

test('the intent is in the store while the far side has not answered yet', async (t) => {
  const { far, gateway } = await start(t);
  const seen: (AuditRecord | undefined)[] = [];
  far.answer(async () => {
    seen.push(...(await audit(gateway, '?adapter=NSO')).list);
    return jsonReply('{}');
  });
  assert.equal((await relay(gateway, 'restAction', 'NSO', { params: { path: 'x', accept: json }, body: {} })).status, 200);
  assert.equal((await restCall(gateway, { uri: far.url, verb: 'DELETE', responseHeaders: false })).status, 200);
  assert.deepEqual(
    seen.map((record) => [record?.address, record?.outcome]),
    [
      ['x', undefined],
      ['x', 'ok'],
    ],
  );
});

test('refused, failed and unknown are told apart', async (t) => {
  const { far, gateway } = await start(t);
  const act = (path: string): Promise<unknown> =>
    relay(gateway, 'restAction', 'NSO', { params: { path, accept: json }, body: {} });
  await act('secret/x');
  far.answer(() => httpReply({ status: 500 }));
  await act('failing');
  far.answer((_request, socket) => void socket.destroy());
  await act('cut-off');
  far.answer(() => undefined);
  await act('silent');
  await restCall(gateway, { uri: 'http://127.0.0.1:1/?k=v', verb: 'POST', responseHeaders: false });
  await relay(gateway, 'restAction', 'none', { params: { path: 'x', accept: json }, body: {} });
  await gateway.send({
    method: 'POST',
    target: '/tools/restCall',
    role: 'readonly',
    headers: { 'Content-Type': json },
    body: '{}',
  });
  await gateway.send({ target: '/automation_catalog/automations' });
  const found = await records(gateway, 8);
  assert.deepEqual(found.map(({ address, outcome, code, decision }) => `${address} ${outcome} ${code} ${decision}`).sort(), [
    '/automation_catalog/automations refused unauthenticated denied',
    '/orchestrator_manager/restAction/none refused adapter-not-found allowed',
    '/tools/restCall refused forbidden denied',
    'cut-off unknown outcome-unknown allowed',
    'failing failed upstream-error allowed',
    'http://127.0.0.1:1/?k=*** refused destination-denied denied',
    'secret/x refused path-denied denied',
    'silent unknown outcome-unknown allowed',
  ]);
  assert.match(found.find(({ address }) => address === 'secret/x')?.rule ?? '', /denyPaths\.actions has "secret/);
});

test('queries, logins and changes of the catalogue are on record, and no password is', async (t) => {
  const { gateway } = await start(t);
  const headers = { 'Content-Type': json };
  await relay(gateway, 'restQuery', 'NSO', { params: { path: 'q', accept: json } });
  const login = (username: string, password: string): Promise<unknown> =>
    gateway.send({ method: 'POST', target: '/login', headers, body: JSON.stringify({ username, password }) });
  await login('admin-user', testPassword);
  await login('admin-user', 'wrong-hunter2');
  await login('typed-hunter3-here', 'x');
  await gateway.send({
    method: 'POST',
    target: '/automation_catalog/automations',
    role: 'engineering',
    headers,
    body: '{"name":"n"}',
  });
  const found = await records(gateway, 5);
  assert.deepEqual(
    found.map(({ route, principal, outcome, status }) => `${route} ${principal} ${outcome} ${status}`).toReversed(),
    [
      'POST /orchestrator_manager/restQuery/:adapterId admin-user ok 200',
      'POST /login admin-user ok 200',
      'POST /login admin-user refused 401',
      'POST /login undefined refused 401',
      'POST /automation_catalog/automations engineering-user ok 201',
    ],
  );
  await gateway.stop();
  for (const file of ['gateway.db', 'gateway.audit.db'])
    assert.doesNotMatch(readFileSync(join(gateway.directory, file)).toString('latin1'), /hunter|correct horse/);
});

test('a redirect that repeats a change is on record before it is followed', async (t) => {
  const { far, gateway } = await start(t);
  far.answer((request) =>
    request.target === '/a'
      ? httpReply({ status: 307, headers: { Location: '/b?x=y' } })
      : request.target.startsWith('/b')
        ? httpReply({ status: 303, headers: { Location: '/c' } })
        : jsonReply('{}'),
  );
  assert.equal((await restCall(gateway, { uri: `${far.url}/a`, verb: 'PUT', body: {}, responseHeaders: false })).status, 200);
  const [record] = (await audit(gateway, '?outcome=ok&principal=admin-user')).list;
  assert.deepEqual([record?.redirects, record?.attempts], [[`${far.url}/b?x=***`], 3]);
});

test('the size of a long reply is on record once it is out', async (t) => {
  const { far, gateway } = await start(t);
  far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(300_000) }));
  await relay(gateway, 'restAction', 'NSO', { params: { path: 'long', accept: json }, body: {} });
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if ((await audit(gateway, '?adapter=NSO')).list[0]?.bytesReceived === 300_000) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the size was never put on record');
});

test('GET /audit judges its parameters, every one of them, and pages follow each other', async (t) => {
  const { gateway } = await start(t);
  const reply = await gateway.send({
    target: '/audit?from=yesterday&to=2026-13-01T00:00:00Z&outcome=good&limit=0&cursor=x&adapter=a&adapter=b&who=me',
    role: 'admin',
  });
  assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), [
    '?adapter',
    '?cursor',
    '?from',
    '?limit',
    '?outcome',
    '?to',
    '?who',
  ]);
  const doubled = await gateway.send({ target: '/audit??limit=1', role: 'admin' });
  assert.deepEqual(pointersOf(assertProblem(doubled, 400, 'invalid-request')), ['??limit']);
  for (let count = 0; count < 5; count += 1)
    await relay(gateway, 'restAction', 'NSO', { params: { path: `p${count}`, accept: json }, body: {} });
  const first = await audit(gateway, '?adapter=NSO&limit=2');
  const second = await audit(gateway, `?adapter=NSO&limit=2&cursor=${first.cursor}`);
  const third = await audit(gateway, `?adapter=NSO&limit=2&cursor=${second.cursor}`);
  assert.deepEqual(
    [...first.list, ...second.list, ...third.list].map(({ address }) => address),
    ['p4', 'p3', 'p2', 'p1', 'p0'],
  );
  assert.equal(third.cursor, undefined);
  const future = encodeURIComponent(new Date(Date.now() + 3_600_000).toISOString());
  assert.deepEqual((await audit(gateway, `?from=${future}`)).list, []);
  assert.equal((await audit(gateway, `?adapter=NSO&to=${future}`)).list.length, 5);
});

test('R95: the command line lists and verifies the log, and a checkpoint file elsewhere shows a log that was cut off', async (t) => {
  const { gateway } = await start(t, { audit: { checkpointFile: 'checkpoints' } });
  await relay(gateway, 'restAction', 'NSO', { params: { path: 'x', accept: json }, body: {} });
  const command = (...argv: readonly string[]) =>
    runCommand([...argv, '--config', gateway.configFile], { directory: gateway.directory });
  await until('its outcome is on record', async () => (await audit(gateway, '?adapter=NSO')).list[0]?.outcome === 'ok');
  const listed = await command('audit', 'list', '--limit', 'all', '--adapter', 'NSO');
  assert.equal(listed.code, 0, listed.stderr);
  assert.deepEqual(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as AuditRecord).outcome),
    ['ok'],
  );
  assert.equal((await command('audit', 'list', '--outcome', 'good')).code, 2);
  assert.equal((await command('audit', 'verify')).code, 0);
  await gateway.stop();
  const file = join(gateway.directory, 'checkpoints');
  assert.equal((await readFile(file, 'utf8')).trim().split('\n').length, 2);
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

test('R73: a disk that is full refuses changes before they leave, and takes them again once there is room', async (t) => {
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
  await eventually(async () => (await act()).status === 200);
  const verified = await runCommand(['audit', 'verify', '--config', gateway.configFile], { directory: gateway.directory });
  assert.equal(verified.code, 0, verified.stdout);
});

test('R73: an audit file that may not be written refuses changes before they leave, and takes them once it may', async (t) => {
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
    await eventually(async () => (await act()).status === 200);
  } finally {
    file.makeWritable();
  }
});

test('a PostgreSQL that stops refuses changes before they leave, and what came of the earlier ones is kept', {
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
  // It had left when the store went away: its caller is told what came of it, and the record follows.
  const slow = await act('before').catch(() => undefined);
  assert.ok(slow !== undefined);
  far.answer(() => jsonReply('{}'));
  assertProblem(await act('refused'), 503, 'audit-unavailable');
  assert.equal(far.requests.length, 0);
  await postgres.start();
  await eventually(async () => (await act('after')).status === 200);
  await eventually(async () => (await audit(gateway, '?adapter=NSO')).list.every(({ outcome }) => outcome !== undefined));
  const outcomes = new Map((await audit(gateway, '?adapter=NSO')).list.map(({ address, outcome }) => [address, outcome]));
  assert.equal(outcomes.get('after'), 'ok');
  assert.equal(outcomes.get('before'), slow.status === 200 ? 'ok' : 'unknown');
  assert.notEqual(outcomes.get('refused'), 'ok');
});

test('only the step that puts calls on record permits a change', async () => {
  const permitting: string[] = [];
  for await (const file of glob('src/**/*.ts')) {
    if (!file.endsWith('.test.ts') && /\.permitChange\(/u.test(await readFile(file, 'utf8'))) permitting.push(file);
  }
  assert.deepEqual(permitting, ['src/calls/recorded.ts']);
});

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail('it never came to hold');
}
