// suite: waiting

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { assertProblem, relay, responseOf, restCall } from './support/callers/calls.ts';
import { type Connection, openConnection, type Reply, requestBytes, sendBytes } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Hostile callers: framing that RFC 9112 refuses, slow and incomplete requests, invalid request targets.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [
      { name: 'narrow', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 1, queue: 1 },
      { name: 'lone', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 1, queue: 0 },
    ],
  },
);

const host = `Host: 127.0.0.1:${gateway.port}\r\n`;
const admin = `Authorization: ${gateway.basicFor('admin')}\r\n`;
const text = JSON.stringify({ uri: far.url, verb: 'GET', responseHeaders: false });
const start = 'POST /tools/restCall HTTP/1.1\r\n';
const json = 'Content-Type: application/json\r\n';
const length = `Content-Length: ${text.length}\r\n`;
const chunkedText = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
/** Follows a request with ambiguous framing; the gateway must not read these bytes as a second request. */
const smuggled = `GET /whoami HTTP/1.1\r\n${host}${admin}X-Request-Id: smuggled\r\n\r\n`;

async function open(t: TestContext): Promise<Connection> {
  const connection = await openConnection(gateway.port);
  t.after(() => void connection.socket.destroy());
  return connection;
}

/** Sends the bytes; the gateway must answer one of the statuses, close the connection, and make no call. */
async function assertRefused(t: TestContext, bytes: string, statuses: readonly number[]): Promise<void> {
  far.answer(() => jsonReply('{}'));
  const connection = await open(t);
  connection.write(bytes);
  const reply = await connection.reply();
  assert.ok(reply !== undefined, `no reply to\n${bytes.slice(0, 400)}`);
  assert.ok(statuses.includes(reply.status), `${reply.head}\n${reply.text}\nto\n${bytes.slice(0, 400)}`);
  assertProblem(reply, reply.status);
  const second = await connection.reply();
  assert.ok(second === undefined, `after\n${reply.head}\na second reply came:\n${second?.head}\n${second?.text}`);
  await connection.closed();
  assert.equal(far.connections, 0);
}

/** Each gets one error, then the connection ends, and no call is made; a failure names the request. */
async function assertAllRefused(t: TestContext, requests: readonly string[], statuses: readonly number[]): Promise<void> {
  for (const bytes of requests) await assertRefused(t, `${bytes}${smuggled}`, statuses);
}

describe('a request with faulty framing is refused, and its connection closed:', () => {
  const posted = `${start}${host}${admin}${json}`;
  const coded = (coding: string): string => `${posted}Transfer-Encoding: ${coding}\r\n\r\n${chunkedText}`;
  const asked = (headers: string): string => `GET /healthz HTTP/1.1\r\n${host}${headers}\r\n`;

  test('R36: a length together with a transfer coding, two lengths, and a length that is no number', async (t) => {
    const lengths = ['+2', '0x2', '-1', '2, 2', '2 2', '1e1', '99999999999999999999', `+${text.length}`];
    await assertAllRefused(
      t,
      [
        `${posted}${length}Transfer-Encoding: chunked\r\n\r\n${chunkedText}`,
        `${posted}Transfer-Encoding: chunked\r\n${length}\r\n${chunkedText}`,
        `${posted}${length}${length}\r\n${text}`,
        `${posted}${length}Content-Length: 5\r\n\r\n${text}`,
        ...lengths.map((value) => `${posted}Content-Length: ${value}\r\n\r\n${text}`),
      ],
      [400, 413],
    );
  });

  test('R37: a transfer coding other than a single chunked', async (t) => {
    const codings = ['xchunked', 'gzip, chunked', 'chunked, gzip', 'identity', 'chunked, chunked', ' chunkedx', 'chunked;q=1'];
    const twice = coded('chunked\r\nTransfer-Encoding: chunked');
    await assertAllRefused(t, [...codings.map(coded), twice], [400, 501]);
    await assertAllRefused(t, [coded('chunked').replace(chunkedText, `xyz\r\n${text}\r\n0\r\n\r\n`)], [400]);
  });

  test('R38: a transfer coding in HTTP/1.0', async (t) => {
    const old = coded('chunked').replace('HTTP/1.1', 'HTTP/1.0');
    await assertAllRefused(t, [old, old.replace(json, `${json}Connection: keep-alive\r\n`)], [400]);
  });

  test('R39: two Hosts, none, and one that names no host', async (t) => {
    const hosts = [`${host}${host}`, `${host}Host: evil.example\r\n`, '', 'Host: a b/c@d\r\n', 'Host: a/b\r\n', 'Host: u@h\r\n'];
    await assertAllRefused(
      t,
      hosts.map((one) => `GET /healthz HTTP/1.1\r\n${one}\r\n`),
      [400],
    );
  });

  test('R40: a folded header, a bare CR or LF, a NUL, a space before the colon, and no name', async (t) => {
    const headers = [
      'X-A: a\r\n b',
      'X-A: a\r\n\tb',
      'X-A: a\rb',
      'X-A: a\nX-B: b',
      'X-A: a\u0000b',
      'X-A : a',
      ': a',
      'X\u0001: a',
    ];
    await assertAllRefused(
      t,
      [...headers.map((one) => asked(`${one}\r\n`)), 'GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n'],
      [400],
    );
  });

  test('R41: more than 16 KiB, and more than 100 headers', async (t) => {
    const many = (count: number): string => Array.from({ length: count }, (_, index) => `X-${index}: value\r\n`).join('');
    await assertAllRefused(t, [asked(`X-A: ${'a'.repeat(17_000)}\r\n`), asked(many(101)), asked(many(3_000))], [431]);
  });

  test('R42: a repeated Authorization or Idempotency-Key', async (t) => {
    const twice = [admin, 'authorization: Bearer x\r\n', 'Idempotency-Key: a\r\nIdempotency-Key: a\r\n'];
    await assertAllRefused(
      t,
      twice.map((headers) => `${posted}${headers}${length}\r\n${text}`),
      [400],
    );
  });

  test('an invalid method, version or target', async (t) => {
    const lines = ['G\u0001T /healthz HTTP/1.1', 'GET /healthz#/whoami HTTP/1.1', 'GET http://evil.example/healthz HTTP/1.1'];
    lines.push(`GET http://a@127.0.0.1:${gateway.port}/healthz HTTP/1.1`);
    await assertAllRefused(
      t,
      lines.map((line) => `${line}\r\n${host}\r\n`),
      [400],
    );
    await assertAllRefused(t, [`GET /healthz HTTP/7.7\r\n${host}\r\n`], [400, 505]);
    await assertAllRefused(t, [`POST /tools/restCall\r\n${host}${admin}${json}${length}\r\n${text}`], [400]);
  });

  test('a version that is neither 1.1 nor 1.0', async () => {
    for (const version of ['', ' HTTP/0.9', ' HTTP/2.0']) {
      const reply = await sendBytes(gateway.port, `GET /healthz${version}\r\n${host}\r\n`);
      assertProblem(reply, 400, 'malformed-request');
      assert.equal(reply.header('connection'), 'close');
    }
  });

  test('a TLS hello on the plain port', async (t) => {
    const connection = await open(t);
    connection.write(Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x03]));
    connection.write('\r\n\r\n');
    const reply = await connection.reply();
    if (reply !== undefined) assert.equal(reply.status, 400);
    await connection.closed();
  });
});

describe('a request target', () => {
  for (const target of [
    '/tools/restCall%00',
    '/tools/restCall%0a',
    '/%zz',
    '/tools/%72estCall%',
    '//tools/restCall',
    '/./tools/restCall',
    '/tools/../tools/restCall',
    '/tools//restCall',
    '/tools\\restCall',
    '/tools/restCall;x=1',
    `/tools/${'a'.repeat(9000)}`,
    '/orchestrator_manager/restAction/%',
    '/orchestrator_manager/restAction/%ff',
    '/orchestrator_manager/restAction/narrow/extra',
    'tools/restCall',
    '*',
    'x',
    '/\u00fc',
  ]) {
    test(`R49: reaches no other route: ${target.slice(0, 50)}`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await gateway.send({
        method: 'POST',
        target,
        role: 'admin',
        headers: { 'Content-Type': 'application/json' },
        body: text,
      });
      assert.ok(reply.status === 404 || reply.status === 400, `${reply.status} ${reply.text}`);
      assertProblem(reply, reply.status);
      assert.equal(far.connections, 0);
    });
  }

  test('with an adapter name of 15,000 characters reaches its route, which answers 404', async () => {
    const target = `/adapters/${'a'.repeat(15_000)}/test`;
    const reply = await gateway.send({ method: 'POST', target, role: 'admin' });
    assertProblem(reply, 404, 'adapter-not-found');
  });

  test('that cannot be decoded is 400 for every method, known to a route or not', async () => {
    for (const method of ['GET', 'DELETE', 'PROPFIND']) {
      assertProblem(await gateway.send({ method, target: '/%zz' }), 400, 'malformed-request');
    }
  });

  test('in absolute form is never forwarded as by a proxy', async () => {
    far.answer(() => jsonReply('{"proxied":true}'));
    for (const target of ['http://evil.example/healthz', `${far.url}/healthz`, `${far.url}/x`]) {
      const authority = new URL(target).host;
      for (const headers of [{}, { Host: authority }]) {
        const reply = await gateway.send({ target, role: 'admin', headers });
        assert.doesNotMatch(reply.text, /proxied/);
      }
    }
    assert.equal(far.connections, 0);
  });

  test('in absolute form or percent-encoded is the route that it names', async () => {
    const authority = `127.0.0.1:${gateway.port}`;
    assert.equal((await gateway.send({ target: `http://${authority}/healthz` })).status, 200);
    for (const target of [`http://${authority}/healthz?x=1`, '/health%7A', '/%68ealthz?x=%zz']) {
      const reply = await gateway.send({ method: 'PUT', target });
      assertProblem(reply, 405, 'method-not-allowed');
      assert.equal(reply.header('allow'), 'GET, HEAD');
    }
  });

  test('with a method that the parser does not know is 400, and the reply names the method as the cause', async () => {
    const reply = await gateway.send({ method: 'FETCH', target: '/healthz' });
    assert.match(assertProblem(reply, 400, 'malformed-request').detail, /^The gateway does not know the method, or /u);
  });

  test('of CONNECT opens no tunnel, and an upgrade is refused', async (t) => {
    far.answer(() => jsonReply('{}'));
    const tunnel = await open(t);
    tunnel.write(`CONNECT ${far.authority} HTTP/1.1\r\nHost: ${far.authority}\r\n${admin}\r\n`);
    const reply = await tunnel.reply();
    assert.ok(reply === undefined || reply.status >= 400);
    const upgraded = await gateway.send({ target: '/healthz', headers: { Connection: 'Upgrade, close', Upgrade: 'websocket' } });
    assert.notEqual(upgraded.status, 101);
    assert.equal(far.connections, 0);
  });

  test('of CONNECT is 405, and the gateway closes the connection of a caller that never ends its side', {
    timeout: 30_000,
  }, async (t) => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => void socket.destroy());
    let answered = '';
    socket.on('error', () => undefined).on('data', (data: Buffer) => (answered += data.toString('latin1')));
    const sent = performance.now();
    socket.write(`CONNECT ${far.authority} HTTP/1.1\r\nHost: ${far.authority}\r\n\r\n`);
    const dripping = setInterval(() => socket.write('x'), 1_000);
    t.after(() => clearInterval(dripping));
    await new Promise((resolve) => socket.once('close', resolve));
    const lasted = performance.now() - sent;
    assert.match(answered, /^HTTP\/1\.1 405 /u);
    // The gateway gives the caller 5 seconds to read the reply and to end its side (problem.ts, finalReplyTime).
    assert.ok(lasted > 4_000 && lasted < 20_000, `the connection lasted ${lasted} ms`);
  });

  test('of CONNECT from a caller that leaves at once does not end the gateway', async () => {
    for (let at = 0; at < 100; at += 1) {
      const connection = await openConnection(gateway.port);
      connection.socket.write(`CONNECT ${far.authority} HTTP/1.1\r\n${host}\r\n${'x'.repeat((at % 3) * 50_000)}`);
      await lapse(at % 4, 'the caller leaves at another moment');
      connection.socket.resetAndDestroy();
      await connection.closed();
    }
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  });
});

describe('a request', () => {
  test('with Expect: 100-continue gets 100 before its body is sent', async (t) => {
    far.answer(() => jsonReply('{}'));
    const connection = await open(t);
    connection.write(`${start}${host}${admin}${json}${length}Expect: 100-continue\r\nConnection: close\r\n\r\n`);
    await until('the interim reply has arrived', () => connection.interim.length > 0);
    assert.deepEqual(connection.interim, [100]);
    connection.write(text);
    const reply = await connection.reply();
    assert.ok(reply !== undefined);
    responseOf(reply);
  });
});

test('a request without a body, or in HTTP/1.0, gets no 100 Continue (RFC 9110 10.1.1)', async (t) => {
  far.answer(() => jsonReply('{}'));
  for (const bytes of [
    `POST /tools/restCall HTTP/1.0\r\n${host}${admin}${json}${length}Expect: 100-continue\r\n\r\n${text}`,
    `GET /whoami HTTP/1.1\r\n${host}${admin}Expect: 100-continue\r\nConnection: close\r\n\r\n`,
    `${start}${host}${admin}${json}Content-Length: 0\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  ]) {
    const connection = await open(t);
    connection.write(bytes);
    assert.ok((await connection.reply()) !== undefined);
    assert.deepEqual(connection.interim, [], bytes);
  }
});

describe('a caller who leaves', () => {
  test('R47: aborts the outbound call at once and releases its slot', async (t) => {
    const closed: Promise<unknown>[] = [];
    far.answer((request, socket) => {
      if (request.target !== '/hang') return jsonReply('{}');
      closed.push(once(socket, 'close'));
      return undefined;
    });
    for (let round = 1; round <= 3; round += 1) {
      const connection = await open(t);
      connection.write(
        requestBytes(gateway.port, {
          method: 'POST',
          target: '/orchestrator_manager/restQuery/narrow',
          headers: { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' },
          body: JSON.stringify({ params: { path: 'hang', accept: '*/*' } }),
        }),
      );
      await until('the call has arrived', () => closed.length === round);
      const left = performance.now();
      connection.socket.destroy();
      await closed[round - 1];
      assert.ok(performance.now() - left < 5_000, 'a time limit ended the call, not the caller');
    }
    const reply = await relay(gateway, 'restQuery', 'narrow', { params: { path: 'fine', accept: '*/*' } });
    assert.equal(reply.status, 200, reply.text);
  });

  test('in the middle of a body makes no call, and other callers are served', async (t) => {
    far.answer(() => jsonReply('{}'));
    for (let round = 0; round < 20; round += 1) {
      const connection = await open(t);
      connection.write(`${start}${host}${admin}${json}Content-Length: 100000\r\n\r\n{"uri":`);
      await lapse(5, 'the gateway reads a part of the body');
      if (round % 2 === 0) connection.socket.resetAndDestroy();
      else connection.socket.destroy();
    }
    responseOf(await restCall(gateway, text));
    assert.equal(far.requests.length, 1);
  });

  test('in the middle of a large reply leaves other callers served', async (t) => {
    far.answer(() => jsonReply(`"${'x'.repeat(20_000_000)}"`));
    for (let round = 0; round < 3; round += 1) {
      const connection = await open(t);
      connection.write(`${start}${host}${admin}${json}${length}\r\n${text}`);
      await once(connection.socket, 'data');
      connection.socket.resetAndDestroy();
    }
    far.answer(() => jsonReply('{}'));
    responseOf(await restCall(gateway, text));
  });
});

/** Fails unless the audit log and the metrics have the outcome that the caller got. */
async function assertRecorded(
  reply: Reply,
  expected: { readonly status: number; readonly code: string; readonly outcome: string },
): Promise<void> {
  const requestId = reply.header('x-request-id');
  let entry: Readonly<Record<string, unknown>> | undefined;
  await until(`${requestId} is on record`, async () => {
    const listed = await gateway.send({ target: '/audit?limit=1000', role: 'admin' });
    const { list } = listed.json() as { readonly list: readonly Record<string, unknown>[] };
    entry = list.find((candidate) => candidate['requestId'] === requestId);
    return entry !== undefined;
  });
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, entry?.[name]])), expected);
  const metrics = await gateway.send({ target: '/metrics', role: 'admin' });
  assert.match(
    metrics.text,
    new RegExp(`route="/tools/restCall",method="POST",status="${expected.status}",code="${expected.code}"`, 'u'),
  );
}

test('a fault in a chunked body is on record with the status and code of its reply', async (t) => {
  const connection = await open(t);
  connection.write(`${start}${host}${admin}${json}Transfer-Encoding: chunked\r\n\r\n4\r\n{"ur\r\nnonsense\r\n`);
  const reply = await connection.reply();
  assert.ok(reply !== undefined);
  assertProblem(reply, 400, 'malformed-request');
  await assertRecorded(reply, { status: 400, code: 'malformed-request', outcome: 'refused' });
});

describe('a caller who is slow', { concurrency: true }, () => {
  const slowly = async (t: TestContext, head: string, byte: string): Promise<Reply | undefined> => {
    const connection = await open(t);
    connection.write(head);
    const timer = setInterval(() => {
      if (!connection.socket.destroyed) connection.write(byte);
    }, 1000);
    t.after(() => clearInterval(timer));
    const reply = await connection.reply();
    await connection.closed();
    return reply;
  };

  test('R43: with its headers gets 408, and the gateway closes the connection', { timeout: 60_000 }, async (t) => {
    const reply = await slowly(t, `GET /healthz HTTP/1.1\r\n${host}X-Slow: `, 'a');
    assert.ok(reply !== undefined);
    assertProblem(reply, 408, 'request-timeout');
  });

  test('R44: with its body gets 408, and the gateway closes the connection', { timeout: 100_000 }, async (t) => {
    const reply = await slowly(t, `${start}${host}${admin}${json}Content-Length: 100000\r\n\r\n{`, ' ');
    assert.ok(reply !== undefined);
    assertProblem(reply, 408, 'request-timeout');
    await assertRecorded(reply, { status: 408, code: 'request-timeout', outcome: 'refused' });
  });

  test('R46: to read its reply loses its connection and its slot, and its call ends at the upstream', async (t) => {
    const long = jsonReply(`"${'a'.repeat(16_000_000)}"`);
    let ended: Promise<unknown> | undefined;
    far.answer((request, socket) => {
      if (request.target !== '/long') return jsonReply('{}');
      ended = new Promise((resolve) => socket.once('close', resolve));
      return long;
    });
    const silent = await open(t);
    silent.socket.pause();
    const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' };
    const body = JSON.stringify({ params: { path: 'long', accept: '*/*' } });
    const target = '/orchestrator_manager/restQuery/lone';
    silent.write(requestBytes(gateway.port, { method: 'POST', target, headers, body }));
    await until('the call has arrived', () => ended !== undefined);
    const query = (): Promise<Reply> => relay(gateway, 'restQuery', 'lone', { params: { path: 'b', accept: '*/*' } });
    assertProblem(await query(), 503, 'adapter-busy');
    await until('a query is answered', async () => (await query()).status === 200);
    await ended;
    // The caller reads only what the buffers hold: never the whole reply.
    silent.socket.resume();
    const reply = await silent.reply();
    assert.ok(reply === undefined || !reply.complete);
  });
});

test('R45: a thousand connections with nothing, half a request or a whole one delay no other caller', async (t) => {
  const idle: Connection[] = [];
  for (let at = 0; at < 1_000; at += 100) idle.push(...(await Promise.all(Array.from({ length: 100 }, () => open(t)))));
  for (const [at, connection] of idle.entries()) {
    if (at % 3 === 0) connection.write('POST /tools/restCall HTTP/1.1\r\nHost: a\r\n');
    if (at % 3 === 1) connection.write(`GET /healthz HTTP/1.1\r\n${host}\r\n`);
  }
  for (let at = 0; at < 5; at += 1) {
    const begun = performance.now();
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
    const took = performance.now() - begun;
    assert.ok(took < 5_000, `${took} ms`);
    // The gateway ends a connection ten seconds after it began without a whole head.
    const ended = idle.filter(({ socket }) => socket.closed || socket.readableEnded).length;
    if (at === 0) assert.equal(ended, 0, 'an idle connection ended');
  }
});

test('the gateway answers after all of these callers', async () => {
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
});
