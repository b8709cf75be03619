// suite: waiting

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { AuditLog } from '#audit/audit-log.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { continueTrace, readTrace } from '#base/trace-context.ts';
import type { Span, Tracing } from '#base/tracing.ts';
import { dyingAfter, errorOf, outputOf, runTrace, taskGateway } from '../../../test/support/runs/call-tasks.ts';
import { sealedSecret } from '../../../test/support/runs/sealed-secret.ts';
import { until } from '../../../test/support/until.ts';
import { httpReply, jsonReply } from '../../../test/support/upstreams/upstream.ts';

const params = { path: 'restconf/operations/x', accept: 'application/yang-data+json' };
const action = { adapter: 'NSO', params, body: { a: 1 } };
const hour = 3_600_000;

test('an action is sent once, and its record names the run, the task and who it belongs to', async (t) => {
  const { far, perform, records } = await taskGateway(t);
  far.answer(() => jsonReply('{"done":true}'));
  const end = await perform('orchestratorAction', action);
  assert.deepEqual(outputOf(end), { done: true });
  assert.deepEqual([far.request.method, far.request.target], ['POST', '/restconf/operations/x']);
  assert.equal(far.request.header('traceparent')?.split('-')[1], runTrace.traceId);
  const [record] = await records();
  assert.equal(record?.requestId, end.requestId);
  assert.deepEqual([record?.principal, record?.roles, record?.route], ['ann', ['readonly'], 'run restAction']);
  assert.deepEqual([record?.via, record?.sourceAddress], [{ run: 'run-1', task: '/do/0/x', id: '3' }, undefined]);
  assert.deepEqual([record?.outcome, record?.upstreamStatus, record?.traceId], ['ok', 200, runTrace.traceId]);
});

test('an action that is on record only after the lease of its run ended does not leave until the lease is renewed', async (t) => {
  let holds = true;
  let refusals = 0;
  const audit = (log: AuditLog): AuditLog => ({
    ...log,
    async intendOnce(facts, request) {
      const intended = await log.intendOnce(facts, request);
      // The gateway stood still while the record was written.
      if (refusals === 0) holds = false;
      refusals += 1;
      return intended;
    },
  });
  const { far, perform, records } = await taskGateway(t, { audit });
  far.answer(() => jsonReply('{"done":true}'));
  const ending = perform('orchestratorAction', action, { holds: () => holds });
  await until('the first attempt is over', async () => (await records()).some(({ outcome }) => outcome === 'refused'));
  assert.equal(far.requests.length, 0);
  holds = true;
  assert.deepEqual(outputOf(await ending), { done: true });
  assert.deepEqual([far.requests.length, refusals], [1, 2]);
});

test('an action whose run was lost while it was put on record never leaves', async (t) => {
  const lost = new AbortController();
  let holds = true;
  const audit = (log: AuditLog): AuditLog => ({
    ...log,
    async intendOnce(facts, request) {
      const intended = await log.intendOnce(facts, request);
      holds = false;
      return intended;
    },
  });
  const { far, perform, records } = await taskGateway(t, { audit });
  const ending = perform('orchestratorAction', action, { holds: () => holds, signal: lost.signal });
  await until('the attempt is over', async () => (await records()).some(({ outcome }) => outcome === 'refused'));
  lost.abort();
  assert.equal((await ending).result.kind, 'aborted');
  assert.equal(far.requests.length, 0);
});

/** Notes the spans that begin and end. */
function notedSpans(): { readonly tracing: Tracing; readonly notes: string[] } {
  const notes: string[] = [];
  const span = (name: string): Span => {
    notes.push(name);
    return {
      trace: continueTrace(readTrace(runTrace.traceparent, undefined)),
      child: (options) => span(`${options.kind} ${options.name}`),
      end: ({ failed }) => void notes.push(`${name} ${failed ? 'failed' : 'ended'}`),
    };
  };
  const request: Tracing['request'] = ({ name, kind, received }) =>
    span(`${kind} ${name} in ${received?.traceId} ${received?.flags}`);
  const isRecorded = (traceId: string): boolean => traceId === runTrace.traceId;
  return { tracing: { request, isRecorded, ended() {} }, notes };
}

test('a call is a span in the trace of its run, and each attempt a client span in it', async (t) => {
  const { tracing, notes } = notedSpans();
  const { far, perform } = await taskGateway(t, { tracing });
  await perform('orchestratorAction', action);
  far.answer(() => httpReply({ status: 500 }));
  await perform('orchestratorAction', action, { attempt: 2 });
  const name = `internal run restAction in ${runTrace.traceId} 01`;
  assert.deepEqual(notes, [
    name,
    'client POST',
    'client POST ended',
    `${name} ended`,
    name,
    'client POST',
    'client POST failed',
    `${name} failed`,
  ]);
});

test('no span has the value of a secret, or its placeholder', async (t) => {
  const facts: string[] = [];
  const traced: Tracing['request'] = (request) => {
    const span = (options: Pick<typeof request, 'facts'>): Span => {
      facts.push(JSON.stringify(options.facts()));
      return {
        trace: continueTrace(readTrace(runTrace.traceparent, undefined)),
        child: span,
        end: ({ facts: more }) => void facts.push(JSON.stringify(more())),
      };
    };
    return span(request);
  };
  const rule = { adapters: ['NSO'], places: ['path', 'query'] };
  const sealed = { key: sealedSecret('hush/hush hush', rule) };
  const tracing = { request: traced, isRecorded: () => true, ended() {} };
  const { far, perform, placeholder } = await taskGateway(t, { tracing, sealed });
  const path = `restconf/data/${placeholder('key')}?k=${placeholder('key')}`;
  outputOf(await perform('orchestratorQuery', { adapter: 'NSO', params: { ...params, path } }));
  assert.match(far.request.target, /\/hush%2Fhush%20hush\?k=hush%2Fhush%20hush$/u);
  assert.match(facts.join(), /url\.full/u);
  assert.doesNotMatch(facts.join(), new RegExp(`hush|${placeholder('key')}`, 'u'));
});

test('an action without a body sends none where its adapter kind wants none, and a reply without a body is null', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() => httpReply({ status: 204 }));
  const { body: _body, ...without } = action;
  assert.equal(outputOf(await perform('orchestratorAction', without)), null);
});

test('a query and a request with any method answer the reply body as a value', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() => jsonReply('{"x": 18446744073709551615}', { type: 'application/yang-data+json' }));
  const query = await perform('orchestratorQuery', { adapter: 'NSO', params });
  assert.deepEqual(query.result, { kind: 'ok', output: '{"x": 18446744073709551615}' });
  far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'plain "text"' }));
  const request = await perform('orchestratorRequest', { adapter: 'NSO', params: { ...params, method: 'PUT' }, body: [1.0] });
  assert.equal(outputOf(request), 'plain "text"');
  assert.equal(far.request.method, 'PUT');
});

test('a reply that is no text is base64', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() => httpReply({ headers: { 'Content-Type': 'image/png' }, body: Buffer.from([0, 255, 1]) }));
  assert.equal(outputOf(await perform('orchestratorQuery', { adapter: 'NSO', params })), 'AP8B');
});

test('a status of 400 and above is a communication error with that status, whose detail has the code', async (t) => {
  const { far, perform, records } = await taskGateway(t);
  const said = '{"ietf-restconf:errors":{"error":[{"error-tag":"lock-denied","error-message":"busy"}]}}';
  far.answer(() => jsonReply(said, { status: 409, type: 'application/yang-data+json' }));
  const expected = ['communication', 409, 'upstream-error: The orchestrator answered 409: lock-denied: busy.'];
  assert.deepEqual(errorOf(await perform('orchestratorAction', action)), expected);
  const request = { adapter: 'NSO', params: { ...params, method: 'PATCH' }, body: {} };
  assert.deepEqual(errorOf(await perform('orchestratorRequest', request, { activity: 4 })), expected);
  const rest = await perform('restCall', { uri: far.url, verb: 'GET' });
  assert.deepEqual(errorOf(rest), ['communication', 409, 'upstream-error: The upstream answered 409.']);
  const outcomes = (await records()).filter(({ verb }) => verb !== 'GET' && verb !== undefined).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ['failed', 'failed']);
});

test('output: response gives request, status, headers and content with any status, without credentials', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() => jsonReply('{"n":1.10}', { status: 404, headers: { ETag: '"1"' } }));
  const orchestrator = await perform('orchestratorQuery', { adapter: 'NSO', params, output: 'response' });
  assert.equal(orchestrator.result.kind === 'ok' && orchestrator.result.output.endsWith('"content":{"n":1.10}}'), true);
  const { request, statusCode, headers } = outputOf(orchestrator) as Record<string, Record<string, string>>;
  assert.deepEqual(request, { method: 'GET', uri: params.path, headers: { Accept: params.accept } });
  assert.deepEqual([statusCode, headers?.['etag']], [404, '"1"']);
  const credentials = { user: 'u', password: 'hush-hush', headers: { 'X-Api-Key': 'abc', 'X-Other': 'shown' } };
  const rest = await perform('restCall', { uri: `${far.url}/a`, verb: 'GET', ...credentials, output: 'response' });
  assert.equal(far.requests.at(-1)?.header('x-api-key'), 'abc');
  assert.deepEqual((outputOf(rest) as { readonly request: unknown }).request, {
    method: 'GET',
    uri: `${far.url}/a`,
    headers: { 'X-Api-Key': '***', 'X-Other': 'shown', Authorization: '***' },
  });
});

test('a call is decided by those who answer for it, and not by the principal', async (t) => {
  const { far, perform, records } = await taskGateway(t);
  await assert.rejects(perform('orchestratorAction', action, { answerable: ['engineering'] }), {
    message: /^The call is held: engineering answers for this call of a run, and may not make it\. This needs the role admin/u,
  });
  assert.equal(far.requests.length, 0);
  assert.deepEqual(outputOf(await perform('restCall', { uri: far.url, verb: 'GET' }, { answerable: ['engineering'] })), {});
  await until('the refusal is on record', async () => (await records()).some(({ decision }) => decision === 'denied'));
});

test('path rights and the outbound policy refuse the calls of runs too', async (t) => {
  const { far, perform } = await taskGateway(t);
  const denied = await perform('orchestratorAction', { ...action, params: { ...params, path: 'restconf/x/sync-to' } });
  const [type, status, detail] = errorOf(denied);
  assert.deepEqual([type, status], ['authorization', 403]);
  assert.match(String(detail), /^path-denied: The adapter instance "NSO" does not allow this path: denyPaths/u);
  const elsewhere = await perform('restCall', { uri: 'http://127.0.0.1:1/', verb: 'POST' });
  assert.match(String(errorOf(elsewhere)[2]), /^destination-denied: /u);
  assert.equal(far.requests.length, 0);
});

test('arguments that are no call are an error that names every problem, and nothing is sent', async (t) => {
  const { far, perform } = await taskGateway(t);
  const missing = errorOf(await perform('orchestratorAction', { adapter: 7, params: { path: 1 } }));
  assert.deepEqual(missing.slice(0, 2), ['validation', 400]);
  assert.match(String(missing[2]), /^invalid-request: \/adapter is not a text \(and 2 more/u);
  const path = errorOf(await perform('orchestratorQuery', { adapter: 'NSO', params: { ...params, path: '../x' } }));
  assert.match(String(path[2]), /^invalid-request: \/params\/path has a \.\. segment/u);
  const unknown = errorOf(await perform('orchestratorQuery', { adapter: 'none', params }));
  assert.deepEqual(unknown.slice(0, 2), ['configuration', 404]);
  assert.equal(far.requests.length, 0);
});

test('JSON with a byte order mark is JSON, and a body that only says it is JSON is an error with line and column', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer(() => jsonReply('\u{feff} {"id": 1.0}\n'));
  const query = { adapter: 'NSO', params };
  assert.equal((await perform('orchestratorQuery', query)).result.kind, 'ok');
  assert.deepEqual(outputOf(await perform('orchestratorQuery', query)), { id: 1 });
  for (const [body, place] of [
    [Buffer.from('{\n  "ä": 1,,\n}'), /line 2, column 10: /u],
    [Buffer.from('<html>'), /line 1, column 1: /u],
    [Buffer.from('{"a":1'), /line 1, column 7: /u],
    [Buffer.from([0x22, 0xff, 0x22]), /it is not UTF-8/u],
  ] as const) {
    far.answer(() => httpReply({ headers: { 'Content-Type': 'application/json' }, body }));
    const [type, , detail] = errorOf(await perform('orchestratorQuery', query));
    assert.equal(type, 'communication');
    assert.match(String(detail), place);
    const raw = await perform('http', { method: 'get', endpoint: far.url, output: 'raw' });
    assert.equal(outputOf(raw), body.toString('base64'));
  }
  far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: Buffer.from('{,') }));
  assert.equal(outputOf(await perform('orchestratorQuery', query)), '{,');
});

test('an action that only reads may be made again: by its path, and where the writer says so', async (t) => {
  const { far, perform, records } = await taskGateway(t);
  const checkSync = { ...params, path: 'restconf/data/tailf-ncs:devices/device=ce0/check-sync' };
  const reading = { adapter: 'NSO', params: checkSync, body: {} };
  for (const [name, args] of [
    ['orchestratorAction', reading],
    ['orchestratorAction', { ...action, repeatable: true }],
    ['orchestratorRequest', { ...reading, params: { ...checkSync, method: 'POST' } }],
  ] as const) {
    far.answer((_request, socket) => void socket.destroy());
    const [type, , detail] = errorOf(await perform(name, args));
    assert.equal(type, 'communication');
    assert.match(String(detail), /^outcome-unknown: /u);
    far.answer(() => jsonReply('{"result":"in-sync"}'));
    // An earlier gateway began the call and died.
    assert.deepEqual(outputOf(await perform(name, args, { begunAt: Date.now() - 30 * hour })), { result: 'in-sync' });
    assert.equal(far.requests.length, 1);
  }
  const recorded = (await records()).filter(({ verb }) => verb === 'POST');
  assert.deepEqual(recorded.map(({ address, repeatable }) => `${address?.split('/').at(-1)} ${repeatable}`).toSorted(), [
    'check-sync undefined',
    'check-sync undefined',
    'check-sync undefined',
    'check-sync undefined',
    'x true',
    'x true',
  ]);
});

test('an action whose path is a read action in one reading alone is a change', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer((_request, socket) => void socket.destroy());
  for (const [path, method] of [
    ['restconf/operations/x%2Fcheck-sync', 'POST'],
    ['restconf/data/tailf-ncs:devices/check-sync;x', 'POST'],
    ['restconf/data/tailf-ncs:devices/check-sync', 'PATCH'],
    ['restconf/data/tailf-ncs:devices/sync-from', 'POST'],
  ] as const) {
    const end = await perform(
      'orchestratorRequest',
      { adapter: 'NSO', params: { ...params, path, method }, body: {} },
      { activity: 9 },
    );
    assert.equal(end.result.kind, 'unknown', path);
  }
});

test('a text is sent as it is where its media type is no JSON', async (t) => {
  const { far, perform } = await taskGateway(t);
  const headers = { 'Content-Type': 'text/plain; charset=utf-8' };
  await perform('restCall', { uri: far.url, verb: 'POST', headers, body: 'hostname r1\n"x"' });
  assert.equal(far.requests[0]?.body.toString(), 'hostname r1\n"x"');
  await perform('restCall', { uri: far.url, verb: 'POST', body: 'text' }, { activity: 4 });
  assert.equal(far.requests[1]?.body.toString(), '"text"');
});

test('a call that a gateway ended before it died is not made again: its kept reply is the output', async (t) => {
  const first = await taskGateway(t, { audit: dyingAfter(t, 'outcome') });
  const { far, database } = first;
  far.answer(() => jsonReply('{"n":1.000}'));
  void first.perform('orchestratorAction', action);
  await until('the first call is on record', async () => (await first.records())[0]?.outcome === 'ok');
  const second = await taskGateway(t, { far, database });
  const changed = { ...action, body: { a: 2 } };
  const end = await second.perform('orchestratorAction', changed, { begunAt: Date.now() });
  assert.deepEqual(end.result, { kind: 'ok', output: '{"n":1.000}' });
  assert.equal(far.requests.length, 1);
  const made = (await first.records()).find(({ outcome, replays }) => outcome === 'ok' && replays === undefined);
  assert.equal(end.requestId, made?.requestId, 'the call that was made is the one to look up');
});

test('an error that a gateway kept before it died is the same error again', async (t) => {
  const first = await taskGateway(t, { audit: dyingAfter(t, 'outcome') });
  const { far, database } = first;
  far.answer(() => jsonReply('{}', { status: 500 }));
  void first.perform('orchestratorAction', action);
  await until('the first call is on record', async () => (await first.records())[0]?.outcome === 'failed');
  const second = await taskGateway(t, { far, database });
  const end = await second.perform('orchestratorAction', action, { begunAt: Date.now() });
  assert.deepEqual(errorOf(end), ['communication', 500, 'upstream-error: The orchestrator answered 500.']);
  assert.equal(far.requests.length, 1);
});

test('a call whose gateway died before its outcome is unknown, and is not made again', async (t) => {
  const first = await taskGateway(t, { audit: dyingAfter(t, 'intent') });
  const { far, database } = first;
  void first.perform('orchestratorAction', action);
  await until('the upstream has the call', () => far.requests.length === 1);
  const second = await taskGateway(t, { far, database, later: hour });
  const { result } = await second.perform('orchestratorAction', action, { begunAt: Date.now() });
  assert.equal(result.kind, 'unknown');
  assert.equal(far.requests.length, 1);
  const other = await second.perform('orchestratorAction', action, { attempt: 2 });
  assert.equal(other.result.kind, 'ok', 'another attempt is another call');
  assert.equal(far.requests.length, 2);
});

test('a query whose gateway died is made again', async (t) => {
  const first = await taskGateway(t);
  const { far, database } = first;
  await first.perform('orchestratorQuery', { adapter: 'NSO', params });
  const second = await taskGateway(t, { far, database });
  await second.perform('orchestratorQuery', { adapter: 'NSO', params }, { begunAt: Date.now() - 30 * hour });
  assert.equal(far.requests.length, 2);
});

test('a refusal after a crash is unknown, since the earlier gateway may have made the call', async (t) => {
  const { far, perform } = await taskGateway(t);
  const gone = { ...action, adapter: 'gone' };
  assert.deepEqual(errorOf(await perform('orchestratorAction', gone)).slice(0, 2), ['configuration', 404]);
  assert.equal((await perform('orchestratorAction', gone, { begunAt: Date.now() })).result.kind, 'unknown');
  assert.deepEqual(outputOf(await perform('orchestratorAction', action, { begunAt: Date.now() })), {}, 'its key is free');
  assert.equal(far.requests.length, 1);
});

test('a change that began more than 23 hours ago is unknown, since its idempotency key may be forgotten', async (t) => {
  const { far, perform } = await taskGateway(t);
  const { result } = await perform('orchestratorAction', action, { begunAt: Date.now() - 24 * hour });
  assert.equal(result.kind, 'unknown');
  assert.equal(far.requests.length, 0);
});

test('an abort in flight closes the connection of the upstream: a change is unknown, a query aborted', async (t) => {
  const { far, perform, records } = await taskGateway(t);
  for (const [name, kind] of [
    ['orchestratorAction', 'unknown'],
    ['orchestratorQuery', 'aborted'],
  ] as const) {
    const arrived = Promise.withResolvers<Socket>();
    far.answer((_request, socket) => arrived.resolve(socket));
    const controller = new AbortController();
    const ended = perform(name, { adapter: 'NSO', params }, { signal: controller.signal });
    const closed = once(await arrived.promise, 'close');
    controller.abort();
    assert.equal((await ended).result.kind, kind);
    await closed;
  }
  const outcomes = (await records()).filter(({ verb }) => verb === 'POST').map(({ outcome, code }) => [outcome, code]);
  assert.deepEqual(outcomes, [['unknown', 'caller-left']]);
});

test('an abort before anything happened gives aborted, and unknown where an earlier gateway may have made the call', async (t) => {
  const { far, perform } = await taskGateway(t);
  const signal = AbortSignal.abort();
  assert.equal((await perform('orchestratorAction', action, { signal })).result.kind, 'aborted');
  assert.equal((await perform('orchestratorAction', action, { signal, begunAt: Date.now() })).result.kind, 'unknown');
  assert.equal(far.requests.length, 0);
});

/** An audit log whose first intents fail. */
function failing(code: 'audit-unavailable' | 'store-unavailable', times: number): (log: AuditLog) => AuditLog {
  let left = times;
  return (log) => ({
    ...log,
    intendOnce: (facts, request) => {
      left -= 1;
      return left >= 0 ? Promise.reject(new GatewayError(code, 'away')) : log.intendOnce(facts, request);
    },
  });
}

test('a store that is away lets a call wait, and fails it not', async (t) => {
  const far = await taskGateway(t, { audit: failing('store-unavailable', 2) });
  assert.deepEqual(outputOf(await far.perform('orchestratorAction', action)), {});
  assert.equal(far.far.requests.length, 1);
});

test('an abort ends the wait for the store: nothing was sent', async (t) => {
  const { far, perform } = await taskGateway(t, { audit: failing('audit-unavailable', Infinity) });
  const controller = new AbortController();
  const ended = perform('orchestratorAction', action, { signal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  assert.equal((await ended).result.kind, 'aborted');
  assert.equal(far.requests.length, 0);
});

test('the rate limit of the gateway lets a call wait, and fails it not', async (t) => {
  const { far, perform, records } = await taskGateway(t, { configuration: 'server: { rateLimit: { calls: 1, per: 1s } }' });
  for (const activity of [1, 2]) assert.deepEqual(outputOf(await perform('orchestratorAction', action, { activity })), {});
  assert.equal(far.requests.length, 2);
  await until('the refusal is on record', async () => (await records()).some(({ code }) => code === 'too-many-requests'));
});

test('an upstream that breaks off after a change left makes the outcome unknown, and a query an error', async (t) => {
  const { far, perform } = await taskGateway(t);
  far.answer((_request, socket) => void socket.destroy());
  assert.equal((await perform('orchestratorAction', action)).result.kind, 'unknown');
  assert.deepEqual(errorOf(await perform('orchestratorQuery', { adapter: 'NSO', params })).slice(0, 2), ['communication', 502]);
});

test('a reply that is longer than a run may hold is an error, and the call is not made again', async (t) => {
  const { far, perform } = await taskGateway(t);
  const long = `"${'x'.repeat(8 * 1024 ** 2)}"`;
  far.answer(() => jsonReply(long));
  const [type, , detail] = errorOf(await perform('orchestratorAction', action));
  assert.deepEqual([type, String(detail).split(':')[0]], ['runtime', 'response-too-large']);
  const again = await perform('orchestratorAction', action, { begunAt: Date.now() });
  assert.equal(again.result.kind, 'unknown', 'its reply was too long to keep');
  assert.equal(far.requests.length, 1);
});
