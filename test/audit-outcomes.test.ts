// suite: waiting

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, pointersOf, post, relay, restCall } from './support/callers/calls.ts';
import { startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// The audit log has one record a request: what it holds, its outcome, and GET /audit, which lists records.

const json = 'application/json';
interface Listing {
  readonly list: readonly AuditRecord[];
  readonly cursor?: string;
}

const far = await upstream({ after });
/** Tests that list the records of an adapter have one of their own. */
const listed = ['on-record', 'locked', 'intent', 'apart', 'catalogue', 'long', 'pages'].map((name) => ({
  name,
  kind: 'rest',
  url: far.url,
  denyPaths: { actions: ['secret/**'], queries: [] },
  timeouts: { firstByte: '300ms' },
}));
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url }, ...listed],
  },
);
const token = await gateway.tokenFor('admin');

async function audit(query = ''): Promise<Listing> {
  const reply = await gateway.send({ target: `/audit${query}`, role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Listing;
}

/** The records whose request id begins so, newest first, once there are `count`; some are written a moment after the reply. */
async function records(requestId: string, count: number): Promise<readonly AuditRecord[]> {
  let found: readonly AuditRecord[] = [];
  await until(`${count} records of ${requestId}`, async () => {
    found = (await audit('?limit=1000')).list.filter((record) => record.requestId?.startsWith(requestId));
    return found.length >= count;
  });
  return found;
}

/** The records of a request, once a call that came after its outcome is on record too: a second record would be before that call's. */
async function recordsOf(requestId: string): Promise<readonly AuditRecord[]> {
  const found = async (id: string): Promise<readonly AuditRecord[]> => {
    const reply = await gateway.send({ target: '/audit?limit=1000', headers: { Authorization: `Bearer ${token}` } });
    return (reply.json() as Listing).list.filter((record) => record.requestId === id);
  };
  const hasOutcome = async (id: string): Promise<boolean> => (await found(id)).some(({ outcome }) => outcome !== undefined);
  await until(`${requestId} is on record`, () => hasOutcome(requestId));
  const later = `after-${requestId}-${crypto.randomUUID()}`;
  await gateway.send({
    method: 'POST',
    target: '/orchestrator_manager/restQuery/no-such-adapter',
    role: 'admin',
    headers: { 'Content-Type': 'application/json', 'X-Request-Id': later },
    body: JSON.stringify({ params: { path: 'x', accept: json } }),
  });
  await until('the later call is on record', () => hasOutcome(later));
  return found(requestId);
}

/** Sends a call on a socket that the test can close. */
/** Resolves once the connection is closed; the gateway resets it where a reply breaks off. */
function closed(caller: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  caller.on('error', () => {});
  caller.once('close', () => resolve());
  return promise;
}

function send(target: string, body: object, headers: Readonly<Record<string, string>>): Socket {
  const text = JSON.stringify(body);
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const all = { Host: 'x', Authorization: `Bearer ${token}`, 'Content-Type': json, 'Content-Length': text.length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /orchestrator_manager/${target}/NSO HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
  return socket;
}

test('the record of an action has its caller, its address, the rule that allowed it, and its outcome', async () => {
  far.answer(() => jsonReply('{"done":1}'));
  const params = { path: 'a/b?token=s3cret&depth=2&bare', accept: json };
  const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
  const reply = await relay(
    gateway,
    'restAction',
    'on-record',
    { params, body: { a: 1.5 } },
    { headers: { traceparent, 'X-Request-Id': 'me-1' } },
  );
  assert.equal(reply.status, 200);
  // The record is there at once: the gateway answers the caller after the outcome is on record.
  const [record] = (await audit('?adapter=on-record')).list;
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
    adapter: 'on-record',
    verb: 'POST',
    address: 'a/b?token=***&depth=2&***',
    decision: 'allowed',
    rule: 'allowPaths.actions',
    attempts: 1,
    bytesSent: 9,
    bodySha256: createHash('sha256').update('{"a":1.5}').digest('hex'),
    bytesReceived: 10,
    upstreamStatus: 200,
    status: 200,
    outcome: 'ok',
  });
});

test('an action is recorded and answered while another process holds the write lock of the catalogue', async (t) => {
  const headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  far.answer(() => jsonReply('{}'));
  const held = new DatabaseSync(join(gateway.directory, 'gateway.db'), { timeout: 5_000 });
  t.after(() => held.close());
  held.exec('begin immediate');
  const began = performance.now();
  const reply = await relay(gateway, 'restAction', 'locked', { params: { path: 'x', accept: json }, body: {} }, { headers });
  const took = performance.now() - began;
  assert.equal(reply.status, 200, reply.text);
  // SQLite would wait for five seconds for the lock.
  assert.ok(took < 2_000, `${took} ms`);
  const reading = await gateway.send({ target: '/audit?adapter=locked', headers });
  assert.equal((reading.json() as Listing).list[0]?.outcome, 'ok');
  held.exec('rollback');
});

test('an intent is in the store before the upstream answers', async () => {
  const seen: (AuditRecord | undefined)[] = [];
  far.answer(async () => {
    seen.push(...(await audit('?adapter=intent')).list);
    return jsonReply('{}');
  });
  assert.equal((await relay(gateway, 'restAction', 'intent', { params: { path: 'x', accept: json }, body: {} })).status, 200);
  assert.equal((await restCall(gateway, { uri: far.url, verb: 'DELETE', responseHeaders: false })).status, 200);
  assert.deepEqual(
    seen.map((record) => [record?.address, record?.outcome]),
    [
      ['x', undefined],
      ['x', 'ok'],
    ],
  );
});

test('an outcome is refused, failed or unknown', async () => {
  let count = 0;
  const headers = (): Readonly<Record<string, string>> => ({ 'X-Request-Id': `apart-${(count += 1)}` });
  const act = (path: string, adapter = 'apart'): Promise<unknown> =>
    relay(gateway, 'restAction', adapter, { params: { path, accept: json }, body: {} }, { headers: headers() });
  await act('secret/x');
  far.answer(() => httpReply({ status: 500 }));
  await act('failing');
  far.answer((_request, socket) => void socket.destroy());
  await act('cut-off');
  far.answer(() => undefined);
  await act('silent');
  const denied = { uri: 'http://127.0.0.1:1/?k=v', verb: 'POST', responseHeaders: false };
  await restCall(gateway, denied, { headers: headers() });
  await act('x', 'none');
  await restCall(gateway, {}, { role: 'readonly', headers: headers() });
  await gateway.send({ target: '/automation_catalog/automations', headers: headers() });
  const found = await records('apart-', 8);
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

test('the log has queries, logins and changes of the catalogue, and no password', async () => {
  far.answer(() => jsonReply('{}'));
  let count = 0;
  const headers = (): Readonly<Record<string, string>> => ({ 'Content-Type': json, 'X-Request-Id': `logged-${(count += 1)}` });
  await relay(gateway, 'restQuery', 'catalogue', { params: { path: 'q', accept: json } }, { headers: headers() });
  const login = (username: string, password: string): Promise<unknown> =>
    gateway.send({ method: 'POST', target: '/login', headers: headers(), body: JSON.stringify({ username, password }) });
  await login('admin-user', testPassword);
  await login('admin-user', 'wrong-hunter2');
  await login('typed-hunter3-here', 'x');
  await post(gateway, '/automation_catalog/automations', { name: 'n' }, { role: 'engineering', headers: headers() });
  const found = await records('logged-', 5);
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
  // The write-ahead log of each database is a file too.
  const files = readdirSync(gateway.directory).filter((file) => file.startsWith('gateway.') && !file.endsWith('.yaml'));
  const stored = files.map((file) => readFileSync(join(gateway.directory, file)).toString('latin1')).join('');
  assert.match(stored, /engineering-user/);
  assert.doesNotMatch(stored, /hunter|correct horse/);
});

test('the record of a change has the redirects that repeated it', async () => {
  far.answer((request) =>
    request.target === '/a'
      ? httpReply({ status: 307, headers: { Location: '/b?x=y' } })
      : request.target.startsWith('/b')
        ? httpReply({ status: 303, headers: { Location: '/c' } })
        : jsonReply('{}'),
  );
  const call = { uri: `${far.url}/a`, verb: 'PUT', body: {}, responseHeaders: false };
  assert.equal((await restCall(gateway, call, { headers: { 'X-Request-Id': 'repeated' } })).status, 200);
  const [record] = await records('repeated', 1);
  assert.deepEqual([record?.redirects, record?.attempts], [[`${far.url}/b?x=***`], 3]);
});

test('the record of a long reply gets its size after the reply was sent', async () => {
  far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(300_000) }));
  await relay(gateway, 'restAction', 'long', { params: { path: 'long', accept: json }, body: {} });
  await until('the size is on record', async () => (await audit('?adapter=long')).list[0]?.bytesReceived === 300_000);
});

test('GET /audit names every wrong parameter, and its pages follow each other', async () => {
  far.answer(() => jsonReply('{}'));
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
    await relay(gateway, 'restAction', 'pages', { params: { path: `p${count}`, accept: json }, body: {} });
  const first = await audit('?adapter=pages&limit=2');
  const second = await audit(`?adapter=pages&limit=2&cursor=${first.cursor}`);
  const third = await audit(`?adapter=pages&limit=2&cursor=${second.cursor}`);
  assert.deepEqual(
    [...first.list, ...second.list, ...third.list].map(({ address }) => address),
    ['p4', 'p3', 'p2', 'p1', 'p0'],
  );
  assert.equal(third.cursor, undefined);
  assert.deepEqual(
    (await audit('?adapter=pages&address=p3')).list.map(({ address }) => address),
    ['p3'],
  );
  const future = encodeURIComponent(new Date(Date.now() + 3_600_000).toISOString());
  assert.deepEqual((await audit(`?from=${future}`)).list, []);
  assert.equal((await audit(`?adapter=pages&to=${future}`)).list.length, 5);
});

for (const key of [undefined, 'k']) {
  const what = key === undefined ? 'an action' : 'an action with an Idempotency-Key';
  test(`${what} whose caller leaves while its intent waits for the store is on record once`, async (t) => {
    far.answer(() => jsonReply('{}'));
    const held = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'), { timeout: 5_000 });
    t.after(() => held.close());
    held.exec('begin immediate');
    const requestId = `left-${key}`;
    const caller = send(
      'restAction',
      { params: { path: 'x', accept: json }, body: {} },
      { 'X-Request-Id': requestId, ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
    );
    await lapse(300, 'the call arrives, and its intent waits for the store');
    caller.resetAndDestroy();
    await lapse(300, 'the gateway sees that the caller left');
    held.exec('rollback');
    const found = await recordsOf(requestId);
    assert.deepEqual(
      found.map(({ outcome, code, status, bytesSent }) => [outcome, code, status, bytesSent]),
      [['failed', 'caller-left', undefined, 0]],
    );
    assert.equal(far.requests.length, 0);
  });
}

test('R47: a call whose caller leaves before the answer is on record without a status, and a change with the outcome unknown', async () => {
  for (const [target, requestId, came] of [
    ['restQuery', 'left-query', ['failed', 'caller-left', undefined]],
    ['restAction', 'left-action', ['unknown', 'caller-left', undefined]],
  ] as const) {
    const arrived = Promise.withResolvers<void>();
    far.answer((_request, socket) => {
      // A part of the reply has arrived.
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":');
      arrived.resolve();
      return undefined;
    });
    const body = target === 'restQuery' ? {} : { body: {} };
    const caller = send(target, { params: { path: 'x', accept: json }, ...body }, { 'X-Request-Id': requestId });
    await arrived.promise;
    await lapse(100, 'the gateway reads the part of the reply');
    caller.resetAndDestroy();
    const found = await recordsOf(requestId);
    assert.deepEqual(
      found.map(({ outcome, code, status }) => [outcome, code, status]),
      [came],
    );
  }
});

test('a request with credentials that /oauth/token refuses is on record as refused', async () => {
  const reply = await gateway.send({
    method: 'POST',
    target: '/oauth/token',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Request-Id': 'client' },
    body: 'grant_type=client_credentials&client_id=unknown&client_secret=x',
  });
  assert.equal(reply.status, 401, reply.text);
  const [record] = await recordsOf('client');
  assert.deepEqual([record?.outcome, record?.decision, record?.status], ['refused', 'denied', 401]);
});

test('a change that was sent and redirected to a denied destination is on record as failed, not as refused', async () => {
  far.answer(() => httpReply({ status: 307, headers: { Location: 'http://10.0.0.1/' } }));
  const call = { uri: far.url, verb: 'PUT', body: {}, responseHeaders: false };
  const reply = await restCall(gateway, call, { headers: { 'X-Request-Id': 'redirected' } });
  assertProblem(reply, 403, 'destination-denied');
  assert.equal(far.requests.length, 1);
  const [record] = await recordsOf('redirected');
  assert.deepEqual([record?.outcome, record?.decision, record?.code], ['failed', 'denied', 'destination-denied']);
});

test('an error that is replayed for an Idempotency-Key is on record as failed again', async () => {
  const call = { uri: far.url, verb: 'PUT', body: {}, responseHeaders: false };
  for (const requestId of ['first', 'again']) {
    far.answer(() => httpReply({ status: 307, headers: { Location: '/' } }));
    const reply = await restCall(gateway, call, { headers: { 'X-Request-Id': requestId, 'Idempotency-Key': 'e' } });
    assert.deepEqual([reply.status, reply.json()], [502, { ...(reply.json() as object), code: 'too-many-redirects' }]);
  }
  const [record] = await recordsOf('again');
  assert.deepEqual([record?.replays, record?.outcome, record?.status, record?.attempts], ['first', 'failed', 502, 0]);
  assert.equal(record?.code, 'too-many-redirects');
  const metrics = await gateway.send({ target: '/metrics', role: 'admin' });
  assert.match(metrics.text, /^gateway_requests_total\{[^}]*status="502",code="too-many-redirects"\} 2$/mu);
  assert.match(metrics.text, /^gateway_errors_total\{code="too-many-redirects"\} 2$/mu);
});

test('an action whose long reply breaks off has the outcome unknown', async () => {
  far.answer((_request, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(70_000)}`);
    setTimeout(() => socket.destroy(), 300);
    return undefined;
  });
  const caller = send('restAction', { params: { path: 'x', accept: json }, body: {} }, { 'X-Request-Id': 'broken-off' });
  await closed(caller.resume());
  const [record] = await recordsOf('broken-off');
  assert.deepEqual([record?.outcome, record?.code, record?.upstreamStatus], ['unknown', 'outcome-unknown', 200]);
});

for (const [route, type, body] of [
  ['restAction', 'text/plain', Buffer.concat([Buffer.alloc(100_000, 'x'), Buffer.from([0xff, 0xfe])])],
  ['restQuery', json, Buffer.from(`{"d":[${'{"a":1},'.repeat(20_000)}oops]}`)],
] as const) {
  test(`a long reply to ${route} with an error at its end is failed in the record and in the log`, async () => {
    far.answer(() => httpReply({ headers: { 'Content-Type': type }, body }));
    const requestId = `late-${route}`;
    const action = route === 'restAction' ? { body: {} } : {};
    const caller = send(route, { params: { path: 'x', accept: json }, ...action }, { 'X-Request-Id': requestId });
    let answer = '';
    caller.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    await closed(caller);
    assert.match(answer, /^HTTP\/1.1 200/u);
    assert.doesNotMatch(answer, /\r\n0\r\n\r\n$/u);
    const records = await recordsOf(requestId);
    const last = records.at(0);
    assert.deepEqual([last?.outcome, last?.code, last?.upstreamStatus], ['failed', 'upstream-protocol-error', 200]);
    const line = gateway.stderr.find((text) => text.includes(requestId) && text.includes('"msg":"request"'));
    assert.match(line ?? '', /"code":"upstream-protocol-error"/u);
  });
}

test('a redirect that cannot be put on record is not followed, and the error says what was sent', async (t) => {
  const held = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'), { timeout: 5_000 });
  t.after(() => held.close());
  far.answer(() => {
    held.exec('begin immediate');
    return httpReply({ status: 307, headers: { Location: '/other' } });
  });
  const call = { uri: far.url, verb: 'PUT', body: {}, responseHeaders: false };
  const reply = await restCall(gateway, call, { headers: { 'X-Request-Id': 'not-followed', Authorization: `Bearer ${token}` } });
  held.exec('rollback');
  assert.match(
    assertProblem(reply, 503, 'audit-unavailable').detail,
    /^The PUT was answered with status 307; .*cannot be put on record, so nothing was sent there/u,
  );
  assert.equal(far.requests.length, 1);
  const [record] = await recordsOf('not-followed');
  assert.deepEqual([record?.outcome, record?.code], ['failed', 'audit-unavailable']);
});

test('a day that does not exist in the calendar is 400', async () => {
  for (const time of ['2026-02-30T00:00:00Z', '2026-11-31T00:00:00Z', '2026-11-21T24:00:00Z'])
    assertProblem(await gateway.send({ target: `/audit?from=${time}`, role: 'admin' }), 400, 'invalid-request');
  for (const time of ['2024-02-29T00:00:00.5Z', '2026-11-21T08:00:00%2B05:30', '2026-11-21t08:00:00.0123456789z'])
    assert.equal((await gateway.send({ target: `/audit?from=${time}`, role: 'admin' })).status, 200);
});
