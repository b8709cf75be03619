import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { relay, responseOf } from './support/callers/calls.ts';
import { type Connection, openConnection, type Reply, requestBytes } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Requests that a caller sends before the reply to the previous one (docs/decisions/0021-pipelined-requests-in-order.md).

const far = await upstream({ after });
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

/** Answers after the gateway has read all bytes that follow the request. */
function slowly(_request: unknown, socket: Socket): undefined {
  setTimeout(() => socket.write(jsonReply('{"slow":true}')), 300);
}

describe('requests on one connection', () => {
  test('get their reply before the refusal of unreadable bytes that follow', async (t) => {
    for (const unreadable of ['no request at all\r\n\r\n', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', 'x'.repeat(300_000)]) {
      far.answer(slowly);
      const connection = await open(t);
      connection.write(`${start}${length}\r\n${text}${unreadable}`);
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
    const whole = `${start}${length}\r\n${text}`;
    connection.write(`${whole}${whole}${start}Transfer-Encoding: chunked\r\n\r\nno size\r\n`);
    assert.deepEqual([(await connection.reply())?.status, (await connection.reply())?.status], [200, 200]);
    assert.equal((await connection.reply())?.status, 400);
    await connection.closed();
  });

  test('R48: are answered in order, each with its own credentials', async (t) => {
    far.answer((request) => jsonReply(`"${request.target}"`));
    const connection = await open(t);
    const requests = Array.from({ length: 1_000 }, (_, at) => {
      const headers = { Authorization: gateway.basicFor('admin'), 'X-Request-Id': `r${at}`, Connection: 'keep-alive' };
      const body = JSON.stringify({ uri: `${far.url}/${at}`, verb: 'GET', responseHeaders: false });
      const typed = { ...headers, 'Content-Type': 'application/json' };
      if (at % 5 === 0) return requestBytes(gateway.port, { method: 'POST', target: '/tools/restCall', headers: typed, body });
      return requestBytes(gateway.port, {
        target: '/whoami',
        headers: at % 2 === 0 ? headers : { ...headers, Authorization: [] },
      });
    });
    connection.write(Buffer.concat(requests));
    for (let at = 0; at < requests.length; at += 1) {
      const reply = await connection.reply();
      assert.ok(reply !== undefined, `reply ${at}`);
      assert.equal(reply.header('x-request-id'), `r${at}`);
      if (at % 5 === 0) assert.equal(responseOf(reply), `"/${at}"`);
      else assert.equal(reply.status, at % 2 === 0 ? 200 : 401);
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
  // A second action on that connection would have left before this later call.
  await relay(gateway, 'restQuery', 'a', { params: { path: 'later', accept: 'application/json' } });
  assert.deepEqual(
    far.requests.slice(before).map(({ target }) => target),
    ['/first', '/later'],
  );
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
  /** A connection whose slow call is at the upstream: a gateway with a late event loop may refuse the call, which is then repeated. */
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
