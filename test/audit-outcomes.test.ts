import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, restCall } from './support/callers/calls.ts';
import { farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { startGateway } from './support/gateway/start-gateway.ts';

// Contract 11: one record a request, and what it says came of it, where its caller leaves or its refusal is no problem of ours.

const json = 'application/json';
const far = await farSide({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url }],
  },
);
const token = await gateway.tokenFor('admin');

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The records that mention `requestId`, once there is one with an outcome and a further second has passed. */
async function recordsOf(requestId: string): Promise<readonly AuditRecord[]> {
  for (let late = false; ; ) {
    const reply = await gateway.send({ target: '/audit?limit=1000', headers: { Authorization: `Bearer ${token}` } });
    const { list } = reply.json() as { readonly list: readonly AuditRecord[] };
    const found = list.filter((record) => record.requestId === requestId);
    if (late) return found;
    late = found.some(({ outcome }) => outcome !== undefined);
    await pause(late ? 1_000 : 50);
  }
}

/** Sends a call whose caller can leave. */
function send(target: string, body: object, headers: Readonly<Record<string, string>>): Socket {
  const text = JSON.stringify(body);
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const all = { Host: 'x', Authorization: `Bearer ${token}`, 'Content-Type': json, 'Content-Length': text.length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /orchestrator_manager/${target}/NSO HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
  return socket;
}

for (const key of [undefined, 'k']) {
  const what = key === undefined ? 'an action' : 'an action with an Idempotency-Key';
  test(`${what} whose caller leaves while the store takes its intent is on record once`, async (t) => {
    far.answer(() => jsonReply('{}'));
    const held = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
    t.after(() => held.close());
    held.exec('begin immediate');
    const requestId = `left-${key}`;
    const caller = send(
      'restAction',
      { params: { path: 'x', accept: json }, body: {} },
      { 'X-Request-Id': requestId, ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
    );
    await pause(300);
    caller.resetAndDestroy();
    await pause(300);
    held.exec('rollback');
    const found = await recordsOf(requestId);
    assert.deepEqual(
      found.map(({ outcome, code, status, bytesSent }) => [outcome, code, status, bytesSent]),
      [['failed', 'caller-left', undefined, 0]],
    );
    assert.equal(far.requests.length, 0);
  });
}

test('R47: of a call whose caller leaves before it is answered no status is on record, and of a change that nobody knows its outcome', async () => {
  for (const [target, requestId, came] of [
    ['restQuery', 'left-query', ['failed', 'caller-left', undefined]],
    ['restAction', 'left-action', ['unknown', 'caller-left', undefined]],
  ] as const) {
    const arrived = Promise.withResolvers<void>();
    far.answer((_request, socket) => {
      // A part of the reply is there.
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":');
      arrived.resolve();
      return undefined;
    });
    const body = target === 'restQuery' ? {} : { body: {} };
    const caller = send(target, { params: { path: 'x', accept: json }, ...body }, { 'X-Request-Id': requestId });
    await arrived.promise;
    await pause(100);
    caller.resetAndDestroy();
    const found = await recordsOf(requestId);
    assert.deepEqual(
      found.map(({ outcome, code, status }) => [outcome, code, status]),
      [came],
    );
  }
});

test('credentials that /oauth/token refuses are refused on record too', async () => {
  const reply = await gateway.send({
    method: 'POST',
    target: '/oauth/token',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Request-Id': 'client' },
    body: 'grant_type=client_credentials&client_id=nobody&client_secret=x',
  });
  assert.equal(reply.status, 401, reply.text);
  const [record] = await recordsOf('client');
  assert.deepEqual([record?.outcome, record?.decision, record?.status], ['refused', 'denied', 401]);
});

test('a change that left, and was redirected to where it may not go, has failed: refused is what never left', async () => {
  far.answer(() => httpReply({ status: 307, headers: { Location: 'http://10.0.0.1/' } }));
  const call = { uri: far.url, verb: 'PUT', body: {}, responseHeaders: false };
  const reply = await restCall(gateway, call, { headers: { 'X-Request-Id': 'redirected' } });
  assertProblem(reply, 403, 'destination-denied');
  assert.equal(far.requests.length, 1);
  const [record] = await recordsOf('redirected');
  assert.deepEqual([record?.outcome, record?.decision, record?.code], ['failed', 'denied', 'destination-denied']);
});

test('an error that an Idempotency-Key brings back has not gone well the second time either', async () => {
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

test('a long reply that breaks off after its beginning was passed on has not gone well', async () => {
  far.answer((_request, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(70_000)}`);
    setTimeout(() => socket.destroy(), 300);
    return undefined;
  });
  const caller = send('restAction', { params: { path: 'x', accept: json }, body: {} }, { 'X-Request-Id': 'broken-off' });
  await once(caller.resume(), 'close');
  const [record] = await recordsOf('broken-off');
  assert.deepEqual([record?.outcome, record?.code, record?.upstreamStatus], ['unknown', 'outcome-unknown', 200]);
});

for (const [route, type, body] of [
  ['restAction', 'text/plain', Buffer.concat([Buffer.alloc(100_000, 'x'), Buffer.from([0xff, 0xfe])])],
  ['restQuery', json, Buffer.from(`{"d":[${'{"a":1},'.repeat(20_000)}oops]}`)],
] as const) {
  test(`a long reply to ${route} that shows late what it is not has failed, in the record and the log`, async () => {
    far.answer(() => httpReply({ headers: { 'Content-Type': type }, body }));
    const requestId = `late-${route}`;
    const action = route === 'restAction' ? { body: {} } : {};
    const caller = send(route, { params: { path: 'x', accept: json }, ...action }, { 'X-Request-Id': requestId });
    let answer = '';
    caller.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    await once(caller, 'close');
    assert.match(answer, /^HTTP\/1.1 200/u);
    assert.doesNotMatch(answer, /\r\n0\r\n\r\n$/u);
    const records = await recordsOf(requestId);
    const last = records.at(0);
    assert.deepEqual([last?.outcome, last?.code, last?.upstreamStatus], ['failed', 'upstream-protocol-error', 200]);
    const line = gateway.stderr.find((text) => text.includes(requestId) && text.includes('"msg":"request"'));
    assert.match(line ?? '', /"code":"upstream-protocol-error"/u);
  });
}

test('a redirect that cannot be put on record is not followed, and its error does not say that nothing left', async (t) => {
  const held = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
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

test('a day that is in no calendar is 400', async () => {
  for (const time of ['2026-02-30T00:00:00Z', '2026-11-31T00:00:00Z', '2026-11-21T24:00:00Z'])
    assertProblem(await gateway.send({ target: `/audit?from=${time}`, role: 'admin' }), 400, 'invalid-request');
  for (const time of ['2024-02-29T00:00:00.5Z', '2026-11-21T08:00:00%2B05:30', '2026-11-21t08:00:00.0123456789z'])
    assert.equal((await gateway.send({ target: `/audit?from=${time}`, role: 'admin' })).status, 200);
});
