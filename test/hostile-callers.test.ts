import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { assertProblem, relay, responseOf, restCall } from './support/callers/calls.ts';
import { type Connection, openConnection, type Reply, requestBytes, sendBytes } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { startGateway } from './support/gateway/start-gateway.ts';

// Hostile callers: framing that RFC 9112 refuses, slow and incomplete requests, invalid request targets.

const far = await farSide({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'narrow', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 1, queue: 1 }],
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
async function assertRefused(t: TestContext, bytes: string | Buffer, statuses: readonly number[]): Promise<void> {
  far.answer(() => jsonReply('{}'));
  const connection = await open(t);
  connection.write(bytes);
  const reply = await connection.reply();
  assert.ok(reply !== undefined, 'the gateway closed the connection without a reply');
  assert.ok(statuses.includes(reply.status), `${reply.head}\n${reply.text}`);
  assertProblem(reply, reply.status);
  const second = await connection.reply();
  assert.ok(second === undefined, `after\n${reply.head}\na second reply came:\n${second?.head}\n${second?.text}`);
  await connection.closed();
  assert.equal(far.connections, 0);
}

describe('a request with faulty framing', () => {
  const doubtful: Record<string, readonly [string, readonly number[]]> = {
    'Content-Length and Transfer-Encoding': [
      `${start}${host}${admin}${json}${length}Transfer-Encoding: chunked\r\n\r\n${chunkedText}`,
      [400],
    ],
    'two different Content-Lengths': [`${start}${host}${admin}${json}${length}Content-Length: 5\r\n\r\n${text}`, [400]],
    'the same Content-Length twice': [`${start}${host}${admin}${json}${length}${length}\r\n${text}`, [400]],
    'a Content-Length with a sign': [`${start}${host}${admin}${json}Content-Length: +${text.length}\r\n\r\n${text}`, [400]],
    'a hexadecimal Content-Length': [`${start}${host}${admin}${json}Content-Length: 0x2\r\n\r\n${text}`, [400]],
    'a negative Content-Length': [`${start}${host}${admin}${json}Content-Length: -1\r\n\r\n${text}`, [400]],
    'a list of Content-Lengths': [`${start}${host}${admin}${json}Content-Length: 2, 2\r\n\r\n${text}`, [400]],
    'an unknown transfer coding': [`${start}${host}${admin}${json}Transfer-Encoding: xchunked\r\n\r\n${chunkedText}`, [400, 501]],
    'a transfer coding before chunked': [
      `${start}${host}${admin}${json}Transfer-Encoding: gzip, chunked\r\n\r\n${chunkedText}`,
      [400, 501],
    ],
    'the transfer coding identity': [`${start}${host}${admin}${json}Transfer-Encoding: identity\r\n\r\n${text}`, [400, 501]],
    'chunked twice': [
      `${start}${host}${admin}${json}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedText}`,
      [400, 501],
    ],
    'an invalid chunk size': [
      `${start}${host}${admin}${json}Transfer-Encoding: chunked\r\n\r\nxyz\r\n${text}\r\n0\r\n\r\n`,
      [400],
    ],
    'Transfer-Encoding in HTTP/1.0': [
      `POST /tools/restCall HTTP/1.0\r\n${host}${admin}${json}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedText}`,
      [400],
    ],
    'two Hosts': [`GET /healthz HTTP/1.1\r\n${host}${host}\r\n`, [400]],
    'two different Hosts': [`GET /healthz HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`, [400]],
    'no Host': ['GET /healthz HTTP/1.1\r\n\r\n', [400]],
    'an invalid Host': ['GET /healthz HTTP/1.1\r\nHost: a b/c@d\r\n\r\n', [400]],
    'a folded header': [`GET /healthz HTTP/1.1\r\n${host}X-A: a\r\n b\r\n\r\n`, [400]],
    'a space before a colon': [`GET /healthz HTTP/1.1\r\n${host}X-A : a\r\n\r\n`, [400]],
    'a bare CR in a header': [`GET /healthz HTTP/1.1\r\n${host}X-A: a\rb\r\n\r\n`, [400]],
    'bare line feeds': [`GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n`, [400]],
    'a NUL in a header': [`GET /healthz HTTP/1.1\r\n${host}X-A: a\u0000b\r\n\r\n`, [400]],
    'a header without a name': [`GET /healthz HTTP/1.1\r\n${host}: a\r\n\r\n`, [400]],
    'an invalid method': [`G\u0001T /healthz HTTP/1.1\r\n${host}\r\n`, [400]],
    'another version': [`GET /healthz HTTP/7.7\r\n${host}\r\n`, [400, 505]],
    'a request line of HTTP/0.9': [`POST /tools/restCall\r\n${host}${admin}${json}${length}\r\n${text}`, [400]],
    'a fragment in the target': [`GET /healthz#/whoami HTTP/1.1\r\n${host}\r\n`, [400]],
    'an absolute target for another host than Host': [`GET http://evil.example/healthz HTTP/1.1\r\n${host}\r\n`, [400]],
    'an absolute target with user information': [`GET http://a@127.0.0.1:${gateway.port}/healthz HTTP/1.1\r\n${host}\r\n`, [400]],
    'a header of 20 kB': [`GET /healthz HTTP/1.1\r\n${host}X-A: ${'a'.repeat(20_000)}\r\n\r\n`, [431]],
    '3,000 headers': [
      `GET /healthz HTTP/1.1\r\n${host}${Array.from({ length: 3000 }, (_, index) => `X-${index}: value\r\n`).join('')}\r\n`,
      [431],
    ],
  };
  for (const [what, [bytes, statuses]] of Object.entries(doubtful)) {
    test(`is refused and the connection closed: ${what}`, async (t) => {
      await assertRefused(t, `${bytes}${smuggled}`, statuses);
    });
  }

  test('is 400 and ends the connection where the version is neither 1.1 nor 1.0', async () => {
    for (const version of ['', ' HTTP/0.9', ' HTTP/2.0']) {
      const reply = await sendBytes(gateway.port, `GET /healthz${version}\r\n${host}\r\n`);
      assertProblem(reply, 400, 'malformed-request');
      assert.equal(reply.header('connection'), 'close');
    }
  });

  test('is refused where it is a TLS hello on the plain port', async (t) => {
    const connection = await open(t);
    connection.write(Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x03]));
    connection.write('\r\n\r\n');
    const reply = await connection.reply();
    if (reply !== undefined) assert.equal(reply.status, 400);
    await connection.closed();
  });
});

describe('a header that may occur once', () => {
  for (const [what, headers] of [
    ['Authorization twice', `${admin}${admin}`],
    ['Authorization twice, the second another', `${admin}Authorization: Bearer x\r\n`],
  ] as const) {
    test(`is 400: ${what}`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await sendBytes(gateway.port, `${start}${host}Connection: close\r\n${headers}${json}${length}\r\n${text}`);
      assertProblem(reply, 400);
      assert.equal(far.connections, 0);
    });
  }

  test('is refused: Content-Type twice', async () => {
    far.answer(() => jsonReply('{}'));
    const reply = await sendBytes(gateway.port, `${start}${host}Connection: close\r\n${admin}${json}${json}${length}\r\n${text}`);
    assert.ok(reply.status === 400 || reply.status === 415, reply.text);
    assertProblem(reply, reply.status);
    assert.equal(far.connections, 0);
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
    // The gateway gives the caller 5 seconds to read the reply and to end its side (error-replies.ts, lastWordsTime).
    assert.ok(lasted > 4_000 && lasted < 20_000, `the connection lasted ${lasted} ms`);
  });

  test('of CONNECT from a caller that leaves at once does not end the gateway', async () => {
    for (let at = 0; at < 100; at += 1) {
      const connection = await openConnection(gateway.port);
      connection.socket.write(`CONNECT ${far.authority} HTTP/1.1\r\n${host}\r\n${'x'.repeat((at % 3) * 50_000)}`);
      await new Promise((resolve) => setTimeout(resolve, at % 4));
      connection.socket.resetAndDestroy();
      await connection.closed();
    }
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  });
});

describe('invalid Unicode', () => {
  test('in the envelope is 400: a lone surrogate', async () => {
    far.answer(() => jsonReply('{}'));
    for (const more of ['"user":"\\ud800","password":"x"', '"headers":{"X-A":"\\udc00"}']) {
      assertProblem(await restCall(gateway, `{"uri":"${far.url}","verb":"GET","responseHeaders":false,${more}}`), 400);
    }
    assertProblem(await restCall(gateway, `{"uri":"${far.url}/\\ud800","verb":"GET","responseHeaders":false}`), 400);
    assert.equal(far.connections, 0);
  });
});

/** Answers after the gateway has read all bytes that follow the request. */
function slowly(_request: unknown, socket: Socket): undefined {
  setTimeout(() => socket.write(jsonReply('{"slow":true}')), 300);
}

describe('requests on one connection', () => {
  test('get their reply before the refusal of unreadable bytes that follow', async (t) => {
    for (const unreadable of ['no request at all\r\n\r\n', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', 'x'.repeat(300_000)]) {
      far.answer(slowly);
      const connection = await open(t);
      connection.write(`${start}${host}${admin}${json}${length}\r\n${text}${unreadable}`);
      const first = await connection.reply();
      assert.ok(first !== undefined && first.status === 200, 'the reply to the request did not come first');
      assert.match(first.text, /slow/u);
      const second = await connection.reply();
      assert.equal(second?.status, 400, `${second?.head}`);
      await connection.closed();
    }
  });

  test('get their replies before the one refusal of an unreadable body', async (t) => {
    far.answer(slowly);
    const connection = await open(t);
    const whole = `${start}${host}${admin}${json}${length}\r\n${text}`;
    connection.write(`${whole}${whole}${start}${host}${admin}${json}Transfer-Encoding: chunked\r\n\r\nno size\r\n`);
    assert.deepEqual([(await connection.reply())?.status, (await connection.reply())?.status], [200, 200]);
    assert.equal((await connection.reply())?.status, 400);
    await connection.closed();
  });

  test('are answered in order where they are pipelined', async (t) => {
    far.answer((request) => jsonReply(`"${request.target}"`));
    const connection = await open(t);
    const count = 100;
    const requests: Buffer[] = [];
    for (let at = 0; at < count; at += 1) {
      const headers = { Authorization: gateway.basicFor('admin'), 'X-Request-Id': `r${at}`, Connection: 'keep-alive' };
      const body = JSON.stringify({ uri: `${far.url}/${at}`, verb: 'GET', responseHeaders: false });
      const call = {
        method: 'POST',
        target: '/tools/restCall',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body,
      };
      requests.push(requestBytes(gateway.port, at % 3 === 0 ? { target: '/whoami', headers } : call));
    }
    connection.write(Buffer.concat(requests));
    for (let at = 0; at < count; at += 1) {
      const reply = await connection.reply();
      assert.ok(reply !== undefined, `reply ${at}`);
      assert.equal(reply.header('x-request-id'), `r${at}`);
      if (at % 3 === 0) assert.match(reply.text, /admin-user/);
      else assert.equal(responseOf(reply), `"/${at}"`);
    }
  });

  test('are answered after a refused one, or the gateway closes the connection', async (t) => {
    far.answer(() => jsonReply('{}'));
    const connection = await open(t);
    const body = '{"verb":"GET"}'.padEnd(50_000, ' ');
    const headers = { 'Content-Type': 'application/json', Connection: 'keep-alive', 'X-Request-Id': 'first' };
    connection.write(requestBytes(gateway.port, { method: 'POST', target: '/tools/restCall', headers, body }));
    connection.write(requestBytes(gateway.port, { target: '/healthz', headers: { 'X-Request-Id': 'second' } }));
    const first = await connection.reply();
    assert.equal(first?.status, 401);
    const second = await connection.reply();
    if (second !== undefined) {
      assert.equal(second.status, 200);
      assert.equal(second.header('x-request-id'), 'second');
    }
  });

  test('with Expect: 100-continue get 100 before their body is sent', async (t) => {
    far.answer(() => jsonReply('{}'));
    const connection = await open(t);
    connection.write(`${start}${host}${admin}${json}${length}Expect: 100-continue\r\nConnection: close\r\n\r\n`);
    const deadline = performance.now() + 10_000;
    while (connection.interim.length === 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 10));
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
      const deadline = performance.now() + 20_000;
      while (closed.length < round && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(closed.length, round);
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
      await new Promise((resolve) => setTimeout(resolve, 5));
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
  const deadline = performance.now() + 5_000;
  for (;;) {
    const listed = await gateway.send({ target: '/audit?limit=1000', role: 'admin' });
    const entries = (JSON.parse(listed.text) as { readonly list: readonly Record<string, unknown>[] }).list;
    const entry = entries.find((candidate) => candidate['requestId'] === requestId);
    if (entry !== undefined) {
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, entry[name]])), expected);
      break;
    }
    assert.ok(performance.now() < deadline, `${requestId} is not on record`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
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

  test('and sends nothing more does not delay other callers', async (t) => {
    const connections = await Promise.all(Array.from({ length: 200 }, () => open(t)));
    for (const connection of connections) connection.write('GET /healthz HTTP/1.1\r\n');
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  });
});

test('the gateway answers after all of these callers', async () => {
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
});
