import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { assertProblem, relay } from './support/callers/calls.ts';
import { type Connection, openConnection, type Reply, requestBytes } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';

// Rows 36 to 42, 45, 46, 48 and 100 of docs/security.md, over raw sockets.
// test/hostile-callers.test.ts has more cases, and rows 43, 44, 47 and 49.

const far = await farSide({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority], timeouts: { idle: '1s', total: '3s' }, responseLimit: '1GiB' } },
    adapters: [{ name: 'a', kind: 'rest', url: far.url }],
  },
);

const host = `Host: 127.0.0.1:${gateway.port}\r\n`;
const admin = `Authorization: ${gateway.basicFor('admin')}\r\n`;
const text = JSON.stringify({ uri: far.url, verb: 'GET', responseHeaders: false });
const json = 'Content-Type: application/json\r\n';
const start = `POST /tools/restCall HTTP/1.1\r\n${host}${admin}${json}`;
const length = `Content-Length: ${text.length}\r\n`;
const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
/** Follows each request with ambiguous framing; the gateway must not read it as a request of its own. */
const smuggled = `GET /whoami HTTP/1.1\r\n${host}${admin}\r\n`;

async function open(t: TestContext): Promise<Connection> {
  const connection = await openConnection(gateway.port);
  t.after(() => void connection.socket.destroy());
  return connection;
}

/** Each request gets one error with one of these statuses, then the connection ends, and no call is made. */
async function refusedAndClosed(t: TestContext, requests: readonly string[], statuses: readonly number[]): Promise<void> {
  far.answer(() => jsonReply('{}'));
  for (const bytes of requests) {
    const connection = await open(t);
    connection.write(`${bytes}${smuggled}`);
    const reply = await connection.reply();
    assert.ok(reply !== undefined, `no reply to\n${bytes.slice(0, 400)}`);
    assert.ok(statuses.includes(reply.status), `${reply.head}\nto\n${bytes.slice(0, 400)}`);
    assertProblem(reply, reply.status);
    assert.equal(await connection.reply(), undefined);
    await connection.closed();
  }
  assert.equal(far.connections, 0);
}

const coded = (coding: string, version = '1.1'): string =>
  `${start.replace('HTTP/1.1', `HTTP/${version}`)}Transfer-Encoding: ${coding}\r\n\r\n${chunks}`;

test('R36: a length together with a transfer coding, two lengths, and a length that is no number are 400', async (t) => {
  const lengths = ['+2', '0x2', '-1', '2, 2', '2 2', '1e1', '99999999999999999999'];
  await refusedAndClosed(
    t,
    [
      `${start}${length}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
      `${start}Transfer-Encoding: chunked\r\n${length}\r\n${chunks}`,
      `${start}${length}${length}\r\n${text}`,
      `${start}${length}Content-Length: 5\r\n\r\n${text}`,
      ...lengths.map((value) => `${start}Content-Length: ${value}\r\n\r\n${text}`),
    ],
    [400, 413],
  );
});

test('R37: a transfer coding other than a single chunked is refused', async (t) => {
  const codings = ['xchunked', 'gzip, chunked', 'chunked, gzip', 'identity', 'chunked, chunked', ' chunkedx', 'chunked;q=1'];
  const twice = `${start}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
  await refusedAndClosed(t, [...codings.map((coding) => coded(coding)), twice], [400, 501]);
});

test('R38: a transfer coding in HTTP/1.0 is 400', async (t) => {
  const kept = coded('chunked', '1.0').replace(json, `${json}Connection: keep-alive\r\n`);
  await refusedAndClosed(t, [coded('chunked', '1.0'), kept], [400]);
});

test('R39: two Host headers, none, and one that names no host are 400', async (t) => {
  const asked = (hosts: string): string => `GET /healthz HTTP/1.1\r\n${hosts}\r\n`;
  const hosts = [`${host}${host}`, `${host}Host: evil.example\r\n`, '', 'Host: a b\r\n', 'Host: a/b\r\n', 'Host: u@h\r\n'];
  await refusedAndClosed(t, hosts.map(asked), [400]);
});

test('R40: folded headers, bare CR, bare LF, NUL and a space before the colon are 400', async (t) => {
  const asked = (header: string): string => `GET /healthz HTTP/1.1\r\n${host}${header}\r\n\r\n`;
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
  await refusedAndClosed(t, [...headers.map(asked), 'GET /healthz HTTP/1.1\nHost: a\n\n'], [400]);
});

test('R41: more than 16 KiB or more than 100 headers are 431', async (t) => {
  const many = Array.from({ length: 101 }, (_, index) => `X-${index}: a\r\n`).join('');
  const asked = (headers: string): string => `GET /healthz HTTP/1.1\r\n${host}${headers}\r\n`;
  await refusedAndClosed(t, [asked(`X-A: ${'a'.repeat(17_000)}\r\n`), asked(many)], [431]);
});

test('R42: a repeated Authorization or Idempotency-Key is 400', async (t) => {
  await refusedAndClosed(
    t,
    [
      `${start}${admin}${length}\r\n${text}`,
      `${start}authorization: Bearer x\r\n${length}\r\n${text}`,
      `${start}Idempotency-Key: a\r\nIdempotency-Key: a\r\n${length}\r\n${text}`,
    ],
    [400],
  );
});

test('R45: a thousand idle connections delay no other caller', { timeout: 60_000 }, async (t) => {
  const idle: Connection[] = [];
  for (let at = 0; at < 1_000; at += 100) idle.push(...(await Promise.all(Array.from({ length: 100 }, () => open(t)))));
  for (const [at, connection] of idle.entries()) if (at % 2 === 0) connection.write('GET /healthz HTTP/1.1\r\n');
  for (let at = 0; at < 5; at += 1) {
    const begun = performance.now();
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
    const took = performance.now() - begun;
    assert.ok(took < 5_000, `${took} ms`);
    // The gateway ends a connection ten seconds after it began without a whole head.
    if (at === 0)
      assert.ok(
        idle.every(({ socket }) => !socket.closed && !socket.readableEnded),
        'an idle connection ended',
      );
  }
});

test('R46: a caller that never reads loses its connection, and its call ends at the far side', {
  timeout: 120_000,
}, async (t) => {
  const ended: Promise<void>[] = [];
  far.answer((_, socket) => {
    ended.push(new Promise<void>((resolve) => socket.once('close', () => resolve())));
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n');
    const block = Buffer.alloc(65_536, 'a');
    const more = (): void => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on('drain', more);
    more();
  });
  const connection = await open(t);
  connection.socket.pause();
  connection.write(`${start}${length}\r\n${text}`);
  const deadline = performance.now() + 30_000;
  while (ended.length === 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(ended.length, 1);
  await ended[0];
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  // The caller reads only what the buffers hold: never the whole reply.
  connection.socket.resume();
  const reply = await connection.reply();
  assert.ok(reply === undefined || !reply.complete);
});

test('R48: a thousand pipelined requests are answered in order, each with its own credentials', async (t) => {
  const connection = await open(t);
  const requests: Buffer[] = [];
  for (let at = 0; at < 1_000; at += 1) {
    const headers = { 'X-Request-Id': `r${at}`, Connection: 'keep-alive' };
    const known = at % 7 === 0 ? { ...headers, Authorization: gateway.basicFor('admin') } : headers;
    requests.push(requestBytes(gateway.port, { target: '/whoami', headers: known }));
  }
  connection.write(Buffer.concat(requests));
  for (let at = 0; at < 1_000; at += 1) {
    const reply = await connection.reply();
    assert.deepEqual([reply?.header('x-request-id'), reply?.status], [`r${at}`, at % 7 === 0 ? 200 : 401]);
  }
});

test('R48: a pipelined action is sent after the reply to the previous request', async (t) => {
  const { promise: firstMayEnd, resolve: endFirst } = Promise.withResolvers<void>();
  far.answer(async ({ target }) => {
    if (target === '/first') await firstMayEnd;
    return jsonReply(`{"at":"${target}"}`);
  });
  const connection = await open(t);
  const before = far.requests.length;
  for (const path of ['first', 'second']) {
    const body = JSON.stringify({ params: { path, accept: 'application/json' }, body: {} });
    const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json', Connection: 'keep-alive' };
    connection.write(requestBytes(gateway.port, { method: 'POST', target: '/orchestrator_manager/restAction/a', headers, body }));
  }
  await until('the first action has arrived', () => far.requests.length === before + 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(far.requests.length, before + 1);
  endFirst();
  for (const path of ['first', 'second']) assert.deepEqual((await connection.reply())?.json(), [{ result: `{"at":"/${path}"}` }]);
});

test('R48: a request for an upgrade is answered without one and ends its connection, and no later bytes are read as a request', async (t) => {
  far.answer(() => jsonReply('{}'));
  const before = far.requests.length;
  const first = `Connection: Upgrade\r\nUpgrade: h2c\r\n`;
  for (const asking of [
    `GET /healthz HTTP/1.1\r\n${host}${first}\r\n`,
    `${start}${length}${first}\r\n${text}`,
    `${start}Transfer-Encoding: chunked\r\n${first}\r\n${chunks}`,
  ]) {
    const connection = await open(t);
    // Node skips the rest of one read: here the head of this POST.
    connection.write(`${asking}${start}Content-Length: ${smuggled.length}\r\n\r\n`);
    const reply = await connection.reply();
    assert.deepEqual([reply?.status, reply?.header('connection')], [200, 'close']);
    connection.write(smuggled);
    assert.equal(await connection.reply(), undefined);
    await connection.closed();
  }
  assert.equal(far.requests.length, before + 2);
});

test('R48: crowds of pipelined requests stop no other caller, and drop no record of other callers', {
  timeout: 60_000,
}, async (t) => {
  far.answer(() => jsonReply('{}'));
  const some = requestBytes(gateway.port, { target: '/audit', headers: { Connection: 'keep-alive' } });
  const burst = Buffer.concat(Array.from({ length: 1_800 }, () => some));
  const crowd = Array.from({ length: 20 }, () => connect(gateway.port, '127.0.0.1'));
  const leave = (): void => {
    for (const socket of crowd) socket.destroy();
  };
  t.after(leave);
  for (const socket of crowd) {
    socket.on('error', () => {}).resume();
    socket.write(burst);
  }
  const names = Array.from({ length: 10 }, (_, index) => `bystander-${index}`);
  for (const name of names) {
    const reply = await relay(gateway, 'restQuery', 'a', { params: { path: name, accept: 'application/json' } });
    assert.equal(reply.status, 200);
  }
  leave();
  await until('all ten calls are on record', async () => {
    const { text } = await gateway.send({ role: 'admin', target: '/audit?adapter=a&limit=1000' });
    return names.every((name) => text.includes(`"${name}"`));
  });
  const { text } = await gateway.send({ role: 'admin', target: '/metrics' });
  assert.match(text, /^gateway_audit_entries_dropped_total 0$/mu);
});

test('R48: requests behind a slow call wait in order, and a connection with too many of them is closed', async (t) => {
  const { promise: mayEnd, resolve: endAll } = Promise.withResolvers<void>();
  far.answer(async () => {
    await mayEnd;
    return jsonReply('{}');
  });
  const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json', Connection: 'keep-alive' };
  const slow = (path: string): Buffer => {
    const body = JSON.stringify({ params: { path, accept: 'application/json' } });
    return requestBytes(gateway.port, { method: 'POST', target: '/orchestrator_manager/restQuery/a', headers, body });
  };
  const short = 'GET /x HTTP/1.1\r\nHost:\r\n\r\n';
  const opened = async (count: number): Promise<Connection> => {
    const connection = await open(t);
    connection.socket.on('error', () => {});
    connection.write(Buffer.concat([slow('crowd'), Buffer.from(short.repeat(count))]));
    return connection;
  };
  /** A connection whose slow call is at the far side: a gateway with a late event loop may refuse the call, which is then repeated. */
  const held = async (path: string): Promise<{ readonly connection: Connection; readonly reply: Promise<Reply | undefined> }> => {
    for (;;) {
      const connection = await open(t);
      connection.write(slow(path));
      let refused = false;
      const reply = connection.reply();
      void reply.then(() => (refused = true));
      await until(
        'the slow call has arrived or is refused',
        () => refused || far.requests.some(({ target }) => target === `/${path}`),
      );
      if (!refused) return { connection, reply };
    }
  };
  const honest = await held('honest');
  honest.connection.write(short.repeat(2_000));
  const crowd: Connection[] = [];
  for (let count = 0; count < 10; count += 1) crowd.push(await opened(2_100));
  await until('some connections are closed', () => crowd.some(({ socket }) => socket.destroyed));
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  for (const { socket } of crowd) socket.destroy();
  // Bodies wait as well, and use memory.
  const { connection: large } = await held('large');
  const one = `POST /x HTTP/1.1\r\nHost:\r\nContent-Length: 60000\r\n\r\n${'a'.repeat(60_000)}`;
  for (let count = 0; count < 100; count += 1) large.write(one);
  await until('the connection is closed', () => large.socket.destroyed);
  endAll();
  assert.equal((await honest.reply)?.status, 200);
  for (let count = 0; count < 2_000; count += 1) assert.equal((await honest.connection.reply())?.status, 404);
});

test('R100: a method that a path does not have is 405 with Allow, also OPTIONS', async () => {
  for (const [target, allow] of [
    ['/tools/restCall', 'POST'],
    ['/orchestrator_manager/restAction/x', 'POST'],
    ['/orchestrator_manager/restQuery/x', 'POST'],
    ['/automation_catalog/automations', 'GET'],
    ['/login', 'POST'],
  ] as const) {
    for (const method of ['OPTIONS', 'TRACE', 'PUT', 'DELETE']) {
      const reply = await gateway.send({ method, target });
      assertProblem(reply, 405, 'method-not-allowed');
      assert.ok(reply.header('allow')?.split(', ').includes(allow), `${method} ${target}: ${String(reply.header('allow'))}`);
    }
  }
});
