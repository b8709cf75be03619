// suite: waiting

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { assertProblem, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Each node has a circuit breaker and slots of its own: an orchestrator that fails affects no other orchestrator.

const far = await upstream({ after });
const probed = await upstream({ after });
const openFor = 400;
const timeouts = { firstByte: '300ms', total: '2s' };
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { name: 'ill', kind: 'nso', url: far.url, timeouts, breaker: { failures: 3, openFor: `${openFor}ms` } },
      { name: 'hasty', kind: 'nso', url: far.url, timeouts: { total: '2s' }, breaker: { failures: 3, openFor: `${openFor}ms` } },
      { name: 'gone', kind: 'nso', url: `http://127.0.0.1:${await closedPort()}`, breaker: { failures: 3, openFor: '1h' } },
      { name: 'patient', kind: 'nso', url: far.url, breaker: { failures: 3, openFor: '1h' } },
      { name: 'quick', kind: 'nso', url: far.url, timeouts: { total: '1s' }, breaker: { failures: 3, openFor: '1h' } },
      { name: 'touchy', kind: 'nso', url: far.url, breaker: { failures: 1, openFor: '1h' } },
      { name: 'forgiving', kind: 'nso', url: far.url, breaker: { failures: 2, openFor: '1h' } },
      { name: 'overtaken', kind: 'nso', url: far.url, breaker: { failures: 1, openFor: '1h' } },
      { name: 'probed', kind: 'rest', url: probed.url, health: { interval: '50ms' }, breaker: { failures: 3, openFor: '1h' } },
    ],
  },
);

const accept = 'application/yang-data+json';
const action = (adapter: string): Promise<Reply> =>
  relay(gateway, 'restAction', adapter, { params: { path: 'act', accept }, body: {} });
const query = (adapter: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
  relay(gateway, 'restQuery', adapter, { params: { path: 'ask', accept } }, { headers });

/** Waits until the breaker lets a call through; resolves to the reply of that call. */
async function whenLetThrough(): Promise<Reply> {
  let reply = await action('ill');
  await until('the breaker lets a call through', async () => {
    if (reply.status === 503) reply = await action('ill');
    return reply.status !== 503;
  });
  return reply;
}

describe('a breaker', () => {
  test('R67: opens after three 5xx in a row, refuses with Retry-After, lets one call through, and closes again', async () => {
    far.answer(() => httpReply({ status: 503, body: 'out of service' }));
    for (let count = 0; count < 3; count += 1) assertProblem(await action('ill'), 502, 'upstream-error');
    const seen = far.requests.length;
    const refused = await action('ill');
    assert.match(assertProblem(refused, 503, 'adapter-unavailable').detail, /keep failing \(the last: status 503\)/u);
    assert.match(refused.header('retry-after') ?? '', /^[1-9]\d*$/u);
    assert.equal(far.requests.length, seen);
    // The one call that is let through fails: the breaker stays open for another openFor.
    assertProblem(await whenLetThrough(), 502, 'upstream-error');
    assert.equal(far.requests.length, seen + 1);
    assertProblem(await action('ill'), 503, 'adapter-unavailable');
    far.answer(() => httpReply({ status: 204 }));
    assert.equal((await whenLetThrough()).status, 200);
    assert.equal((await action('ill')).status, 200);
  });

  test('lets one of ten calls through', async () => {
    far.answer(() => httpReply({ status: 500 }));
    for (let count = 0; count < 3; count += 1) assertProblem(await action('ill'), 502);
    await lapse(openFor + 100, 'the breaker admits a call again');
    far.answer((_request, socket) => void setTimeout(() => socket.write(httpReply({ status: 204 })), 150));
    const replies = await Promise.all(Array.from({ length: 10 }, () => action('ill')));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    assert.equal(replies.filter(({ status }) => status === 503).length, 9);
    assert.equal(far.requests.length, 1);
    assert.equal((await action('ill')).status, 200);
  });

  test('opens on time-outs of the adapter instance', async () => {
    far.answer(() => undefined);
    for (let count = 0; count < 3; count += 1) assertProblem(await action('ill'), 504, 'outcome-unknown');
    assertProblem(await action('ill'), 503, 'adapter-unavailable');
    far.answer(() => httpReply({ status: 204 }));
    assert.equal((await whenLetThrough()).status, 200);
  });

  test('stays open where the one call ends at the time limit of its caller, which shows nothing', async () => {
    far.answer(() => undefined);
    for (let count = 0; count < 3; count += 1) assertProblem(await query('hasty'), 504, 'upstream-timeout');
    assertProblem(await query('hasty'), 503, 'adapter-unavailable');
    await lapse(openFor + 100, 'the breaker admits a call again');
    assertProblem(await query('hasty', { Prefer: 'wait=1' }), 504, 'upstream-timeout');
    assertProblem(await query('hasty'), 503, 'adapter-unavailable');
  });

  test('is not opened by an error that concerns a device or the caller’s request', async () => {
    const body =
      '{"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"operation-failed","error-message":"device csr08: out of sync"}]}}';
    for (const [status, text] of [
      [500, body],
      [502, body],
      [503, body],
      [404, ''],
      [401, ''],
    ] as const) {
      far.answer(() => jsonReply(text, { status }));
      for (let count = 0; count < 5; count += 1) assertProblem(await action('ill'), 502, 'upstream-error');
      assert.equal(far.requests.length, 5, String(status));
    }
  });

  test('is not opened by failures with an answer between them', async () => {
    let count = 0;
    far.answer(() => httpReply({ status: (count += 1) % 3 === 0 ? 204 : 500 }));
    for (let call = 0; call < 12; call += 1) await action('ill');
    assert.equal(far.requests.length, 12);
  });

  test('opens although probes between the failed calls succeed', async () => {
    probed.answer(({ method }) => httpReply({ status: method === 'GET' ? 204 : 500 }));
    for (let call = 0; call < 3; call += 1) {
      assertProblem(await action('probed'), 502, 'upstream-error');
      const seen = probed.requests.length;
      await until('a probe is answered', () => probed.requests.length > seen + 1);
    }
    assertProblem(await action('probed'), 503, 'adapter-unavailable');
  });

  test('opens on refused connections, and refuses queries like actions', async () => {
    // Each call is attempted again: of an action no byte was sent.
    assertProblem(await action('gone'), 502, 'upstream-connect-failed');
    const replies = [await action('gone'), await action('gone'), await query('gone')];
    assert.ok(replies.every(({ status }) => status === 502 || status === 503));
    assertProblem(await query('gone'), 503, 'adapter-unavailable');
    const refused = await action('gone');
    assert.match(
      assertProblem(refused, 503, 'adapter-unavailable').detail,
      /keep failing \(the last: upstream-connect-failed\)/u,
    );
    assert.ok(Number(refused.header('retry-after')) > 3_000);
  });
});

describe('a query that is repeated', () => {
  const breakOff = (_request: unknown, socket: { destroy(): void }): void => socket.destroy();

  test('counts once for the breaker, and its reply tells of the attempt that left', async () => {
    far.answer(breakOff);
    for (const [name, callsUntilOpen] of [
      ['touchy', 1],
      ['forgiving', 2],
    ] as const) {
      far.answer(breakOff);
      for (let call = 0; call < callsUntilOpen; call += 1) assertProblem(await query(name), 502, 'upstream-closed');
      assert.equal(far.requests.length, 3 * callsUntilOpen, name);
      assert.match(assertProblem(await query(name), 503, 'adapter-unavailable').detail, /upstream-closed.*Nothing was sent/u);
      assert.equal(far.requests.length, 3 * callsUntilOpen, name);
    }
  });

  test('tells of its first attempt where another call opens the breaker before the repetition', async () => {
    far.answer(({ method }) =>
      method === 'GET' ? httpReply({ status: 503, headers: { 'Retry-After': '1' } }) : httpReply({ status: 500 }),
    );
    const waiting = query('overtaken');
    await until('the query has arrived', () => far.requests.length === 1);
    assertProblem(await action('overtaken'), 502, 'upstream-error');
    assertProblem(await action('overtaken'), 503, 'adapter-unavailable');
    assert.equal(assertProblem(await waiting, 502, 'upstream-error').upstream?.status, 503);
    assert.equal(far.requests.length, 2);
  });
});

test('time limits of callers open no breaker', async () => {
  far.answer((_request, socket) => void setTimeout(() => socket.write(jsonReply('{}')), 1_500));
  const replies = await Promise.all(Array.from({ length: 6 }, () => query('patient', { Prefer: 'wait=1' })));
  for (const reply of replies) assertProblem(reply, 504, 'upstream-timeout');
  far.answer(() => jsonReply('{}'));
  assert.equal((await query('patient')).status, 200);
});

test('a store that takes longer than the whole call opens no breaker, and the orchestrator gets no call', async (t) => {
  const store = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
  t.after(() => store.close());
  far.answer(() => jsonReply('{}'));
  await until('the breaker is closed', async () => (await query('quick')).status === 200);
  const before = far.requests.length;
  store.exec('begin immediate');
  const began = performance.now();
  const replies = await Promise.all(Array.from({ length: 6 }, () => action('quick')));
  const took = performance.now() - began;
  assert.ok(took < 4_000, `${took} ms`);
  store.exec('rollback');
  for (const reply of replies) {
    assertProblem(reply, 503, 'audit-unavailable');
    assert.equal(reply.header('retry-after'), '1');
  }
  assert.equal((await action('quick')).status, 200);
  assert.equal(far.requests.length, before + 1);
  const { text } = await gateway.send({ role: 'admin', target: '/audit?outcome=refused' });
  const { list } = JSON.parse(text) as { readonly list: readonly { readonly code: string; readonly attempts: number }[] };
  assert.deepEqual(
    list.filter(({ code }) => code === 'audit-unavailable').map(({ attempts }) => attempts),
    [0, 0, 0, 0, 0, 0],
  );
});
