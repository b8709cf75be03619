import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { connect as connectSecurely } from 'node:tls';
import { listen } from '../../../test/support/listen.ts';
import { until } from '../../../test/support/until.ts';
import { selfSigned } from '../../../test/support/upstreams/certificate.ts';
import { frontDoorLimit, limitConnections } from './connection-limit.ts';
import { trackConnections } from './open-connections.ts';

const limit = 20;

interface Crowd {
  readonly server: Server;
  /** Opens a connection and sends nothing on it. */
  readonly open: () => Promise<Socket>;
  /** How many connections the server has. */
  readonly count: () => Promise<number>;
}

async function crowd(t: TestContext, answer: RequestListener, secure = false): Promise<Crowd> {
  const server = secure ? createSecureServer(selfSigned({ names: ['localhost'] })) : createServer();
  const connections = trackConnections(server, { secure });
  server.on('request', (request, response) => {
    response.once('close', connections.begin(request));
    answer(request, response);
  });
  limitConnections(server, connections, limit);
  const { port } = await listen(t, server);
  return {
    server,
    async open() {
      const socket = secure
        ? connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : connect(port, '127.0.0.1');
      t.after(() => void socket.destroy());
      socket.on('error', () => undefined).resume();
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.once(secure ? 'secureConnect' : 'connect', () => resolve()).once('close', () => resolve());
      await promise;
      return socket;
    },
    count: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
  };
}
const ask = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** Sends a request and waits for its reply. */
async function answered(socket: Socket): Promise<string> {
  const data = once(socket, 'data');
  socket.write(ask);
  return String((await data)[0]);
}

for (const secure of [false, true]) {
  describe(`the limit of ${secure ? 'TLS ' : ''}connections`, () => {
    test('closes the longest idle connections, silent ones too, so that new connections get in', async (t) => {
      const { open, count } = await crowd(t, (_request, response) => void response.end('here'), secure);
      const used = await open();
      assert.match(await answered(used), /here$/u);
      const idle: Socket[] = [];
      for (let at = 0; at < limit - 2; at += 1) idle.push(await open());
      // It has just been answered, so the others are idle for longer.
      assert.match(await answered(used), /here$/u);
      for (let at = 0; at < 3 * limit; at += 1) assert.match(await answered(await open()), /here$/u);
      await until('the connections are as expected', () => idle.every((socket) => socket.destroyed));
      await until('the connections are as expected', async () => (await count()) <= limit);
    });

    test('closes no connection that waits for its reply, and refuses new ones while all of them wait', async (t) => {
      const held: (() => void)[] = [];
      const { open, server } = await crowd(t, (_request, response) => void held.push(() => response.end('late')), secure);
      let dropped = 0;
      server.on('drop', () => (dropped += 1));
      const waiting: Promise<string>[] = [];
      for (let at = 1; at <= limit; at += 1) {
        waiting.push(answered(await open()));
        await until('the connections are as expected', () => held.length === at);
      }
      const late = await open();
      await until('the connections are as expected', () => late.destroyed && dropped === 1);
      for (const answer of held) answer();
      for (const text of await Promise.all(waiting)) assert.match(text, /late$/u);
    });
  });
}

test('a connection with several requests in flight is idle only after the last one has ended', async (t) => {
  const held: (() => void)[] = [];
  const { open, server } = await crowd(t, (_request, response) => void held.push(() => response.end('late')));
  let opened = 0;
  server.on('connection', () => (opened += 1));
  const busy = await open();
  let text = '';
  busy.on('data', (data: Buffer) => (text += data.toString()));
  busy.write(ask.repeat(2));
  await until('the connections are as expected', () => held.length === 2);
  held[0]?.();
  await until('the connections are as expected', () => text.endsWith('late'));
  for (let at = 0; at < 2 * limit; at += 1) await open();
  await until('the connections are as expected', () => opened > 2 * limit);
  held[1]?.();
  await until('the connections are as expected', () => text.split('late').length === 3);
});

test('the limits of connections and requests together leave file descriptors over, and connections are at most 16,384', () => {
  assert.deepEqual(frontDoorLimit(20_000), { connections: 13_280, requests: 6_640 });
  assert.deepEqual(frontDoorLimit(1_000), { connections: 612, requests: 306 });
  assert.deepEqual(frontDoorLimit(1_000_000), { connections: 16_384, requests: 333_306 });
  assert.deepEqual(frontDoorLimit(10), { connections: 2, requests: 1 });
  assert.equal(frontDoorLimit(Number.POSITIVE_INFINITY).connections, 16_384);
  const { connections, requests } = frontDoorLimit();
  assert.ok(requests > 0 && connections > 0 && connections <= 16_384, 'of this process');
});
