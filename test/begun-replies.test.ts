// suite: waiting

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, type Problem, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { type FarHandler, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Replies that begin, with a status, and that never end, end too late, or break off.

const far = await upstream({ after });
const timeouts = { firstByte: '2s', idle: '500ms', total: '3s' };
const orchestrator = { kind: 'nso', url: far.url, timeouts };
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority], timeouts } },
    adapters: [
      { name: 'nso', ...orchestrator },
      { name: 'narrow', ...orchestrator, concurrency: 1, queue: 0, breaker: { failures: 1, openFor: '1h' } },
    ],
  },
);
const accept = '*/*';
type Headers = Readonly<Record<string, string>>;

/** Every way to relay a call. */
const ways: Readonly<Record<string, (headers: Headers) => Promise<Reply>>> = {
  'a GET of restCall': (headers) => restCall(gateway, { uri: far.url, verb: 'GET', responseHeaders: false }, { headers }),
  'a POST of restCall': (headers) => restCall(gateway, { uri: far.url, verb: 'POST', responseHeaders: true }, { headers }),
  restAction: (headers) => relay(gateway, 'restAction', 'nso', { params: { path: 'a', accept }, body: {} }, { headers }),
  restQuery: (headers) => relay(gateway, 'restQuery', 'nso', { params: { path: 'a', accept } }, { headers }),
  'a GET of restRequest': (headers) =>
    relay(gateway, 'restRequest', 'nso', { params: { path: 'a', accept, method: 'GET' } }, { headers }),
  'a PATCH of restRequest': (headers) =>
    relay(gateway, 'restRequest', 'nso', { params: { path: 'a', accept, method: 'PATCH' }, body: {} }, { headers }),
};
const changes = new Set(['a POST of restCall', 'restAction', 'a PATCH of restRequest']);

let count = 0;
function newRequestId(): string {
  count += 1;
  return `begun-${count}-end`;
}

interface Traces {
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly upstreamStatus?: number | undefined;
}

/** What the log has of a request. */
async function loggedOf(requestId: string): Promise<Traces> {
  let found: Traces | undefined;
  await until('the request is in the log', () => {
    const line = gateway.stderr.find((text) => text.includes(`"${requestId}"`) && text.includes('"msg":"request"'));
    found = line === undefined ? undefined : (JSON.parse(line) as Traces);
    return found !== undefined;
  });
  return found ?? {};
}

/** What the audit log has of a request once it is complete, which `holds` decides. */
async function recordOf(requestId: string, holds: (record: AuditRecord) => boolean): Promise<AuditRecord> {
  let last: AuditRecord | undefined;
  await until(`the record of ${requestId} is complete`, async () => {
    const reply = await gateway.send({ target: '/audit?limit=1000', role: 'admin' });
    const { list } = reply.json() as { readonly list: readonly AuditRecord[] };
    last = list.find((record) => record.requestId === requestId);
    return last !== undefined && holds(last);
  });
  return last ?? assert.fail();
}

const traceOf = ({ status, code, upstreamStatus }: Traces): Traces => ({ status, code, upstreamStatus });
const begun = 'HTTP/1.1 202 Accepted\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nbegun';

describe('a time-out behind a status line', () => {
  const stalling: FarHandler = (_request, socket) => void socket.write(begun);
  const dripping: FarHandler = (_request, socket) => {
    socket.write(begun);
    const timer = setInterval(() => void socket.write('.'), 100);
    socket.on('close', () => clearInterval(timer));
  };
  for (const [way, call] of Object.entries(ways)) {
    for (const [limit, handler] of [
      ['idle', stalling],
      ['total', dripping],
    ] as const) {
      test(`names the status: ${way}, limit ${limit}`, async () => {
        far.answer(handler);
        const requestId = newRequestId();
        const reply = await call({ 'X-Request-Id': requestId, ...(limit === 'total' ? { Prefer: 'wait=1' } : {}) });
        const code = changes.has(way) ? 'outcome-unknown' : 'upstream-timeout';
        assert.deepEqual(assertProblem(reply, 504, code).upstream, { status: 202 });
        assert.equal(reply.header('x-upstream-status'), '202');
        assert.equal(far.requests.length, 1);
        const expected = { status: 504, code, upstreamStatus: 202 };
        assert.deepEqual(traceOf(await loggedOf(requestId)), expected);
        assert.deepEqual(traceOf(await recordOf(requestId, ({ outcome }) => outcome !== undefined)), expected);
      });
    }
  }

  test('names the status of the last hop after a redirect', async () => {
    far.answer(({ target }, socket) =>
      target === '/' ? httpReply({ status: 307, headers: { Location: '/b' } }) : void socket.write(begun),
    );
    const reply = await restCall(gateway, { uri: far.url, verb: 'PUT', responseHeaders: false });
    const problem = assertProblem(reply, 504, 'outcome-unknown');
    assert.match(problem.detail, /^The PUT was answered with status 307/u);
    assert.deepEqual(problem.upstream, { status: 202 });
    assert.equal(reply.header('x-upstream-status'), '202');
  });
});

test('a time-out before the status line, and a connection that breaks before it, name no status', async () => {
  for (const handler of [() => undefined, (_request: unknown, socket: Socket) => void socket.destroy()]) {
    far.answer(handler);
    const reply = await ways['a GET of restCall']?.({});
    assert.ok(reply !== undefined && reply.status >= 502);
    assert.equal((reply.json() as Problem).upstream, undefined);
    assert.equal(reply.header('x-upstream-status'), undefined);
  }
});

test('a short reply that breaks off names its status', async () => {
  for (const [way, call] of Object.entries(ways)) {
    far.answer((_request, socket) => void socket.end(begun));
    const reply = await call({});
    const code = changes.has(way) ? 'outcome-unknown' : 'upstream-closed';
    assert.deepEqual(assertProblem(reply, 502, code).upstream, { status: 202 });
  }
});

describe('a long reply that breaks off', () => {
  for (const [way, call] of Object.entries(ways)) {
    test(`has one status and one code in the log and in the audit log: ${way}`, async () => {
      far.answer((_request, socket) => {
        socket.write(`${begun.replace('100', '300000')}${'x'.repeat(70_000)}`);
        setTimeout(() => socket.resetAndDestroy(), 100);
        return undefined;
      });
      const requestId = newRequestId();
      const reply = await call({ 'X-Request-Id': requestId }).catch(() => undefined);
      assert.ok(reply === undefined || !reply.complete);
      const expected = { status: 200, code: changes.has(way) ? 'outcome-unknown' : 'upstream-closed', upstreamStatus: 202 };
      assert.deepEqual(traceOf(await loggedOf(requestId)), expected);
      assert.deepEqual(traceOf(await recordOf(requestId, ({ code }) => code !== undefined)), expected);
    });
  }
});

describe('an event stream in answer to */*', () => {
  const head = (more = ''): string => `HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream;charset=utf-8\r\n${more}\r\n`;
  const stream: FarHandler = (_request, socket) => {
    socket.write(`${head('Transfer-Encoding: chunked\r\n')}9\r\ndata: 1\n\n\r\n`);
    const timer = setInterval(() => void socket.write('9\r\ndata: 1\n\n\r\n'), 50);
    socket.on('close', () => clearInterval(timer));
  };

  for (const [way, call] of Object.entries(ways)) {
    test(`is refused by its media type, and its connection is closed: ${way}`, async () => {
      const closed = Promise.withResolvers<void>();
      far.answer((request, socket) => {
        void once(socket, 'close').then(() => closed.resolve());
        return stream(request, socket);
      });
      const requestId = newRequestId();
      const headers = { 'X-Request-Id': requestId, 'Idempotency-Key': requestId };
      const reply = await call(headers);
      const { detail, upstream } = assertProblem(reply, 502, 'stream-refused');
      assert.deepEqual(upstream, { status: 200 });
      assert.equal(/has answered the (?:POST|PATCH)/u.test(detail), changes.has(way), detail);
      await closed.promise;
      assert.equal(far.requests.length, 1);
      const record = await recordOf(requestId, ({ outcome }) => outcome !== undefined);
      assert.deepEqual([record.outcome, record.code, record.upstreamStatus], ['failed', 'stream-refused', 200]);
      if (!changes.has(way)) return;
      const again = await call(headers);
      assert.equal(again.header('idempotency-replayed'), 'true');
      assert.equal(again.text, reply.text);
    });
  }

  test('is no failure for the breaker, and holds no slot', async () => {
    const query = (): Promise<Reply> => relay(gateway, 'restQuery', 'narrow', { params: { path: 'a', accept } });
    const act = (): Promise<Reply> => relay(gateway, 'restAction', 'narrow', { params: { path: 'a', accept }, body: {} });
    far.answer(stream);
    for (const call of [query, act, query, act]) assertProblem(await call(), 502, 'stream-refused');
    far.answer(() => jsonReply('{}'));
    assert.equal((await query()).status, 200);
  });

  test('is relayed where its length is announced, and where it has no body', async () => {
    far.answer(() => `${head('Content-Length: 9\r\n')}data: 1\n\n`);
    for (const call of Object.values(ways)) assert.equal((await call({})).status, 200);
    far.answer(() => head().replace('200 OK', '204 No Content'));
    for (const call of Object.values(ways)) assert.equal((await call({})).status, 200);
  });

  test('is refused by any of several media types, with any status', async () => {
    far.answer(
      (_request, socket) => void socket.write(head('').replace('200', '500').replace('\r\n', '\r\nContent-Type: a/b\r\n')),
    );
    assert.deepEqual(assertProblem(await (ways['restQuery'] ?? assert.fail())({}), 502, 'stream-refused').upstream, {
      status: 500,
    });
  });
});
