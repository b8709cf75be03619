import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { selfSigned } from '../../test/support/certificate.ts';
import { type FarSide, farSide, httpReply } from '../../test/support/far-side.ts';
import { listen } from '../../test/support/listen.ts';
import { connectedTo, sendThrough } from '../../test/support/send-through.ts';
import { until } from '../../test/support/until.ts';
import { CallScope } from './call-scope.ts';
import { createSender, type PooledSender } from './sender.ts';

function senderTo(t: TestContext, far: FarSide): PooledSender {
  const sender = createSender({ connect: () => connectedTo(far.port) });
  t.after(() => sender.close());
  return sender;
}

async function connectionsOf(
  sender: PooledSender,
  far: FarSide,
  ...calls: readonly Parameters<typeof sendThrough>[2][]
): Promise<readonly number[]> {
  for (const call of calls) await sendThrough(sender, `${far.url}/`, call);
  return far.requests.map(({ connection }) => connection);
}

const body = Buffer.from('{}');

test('calls one after the other share a connection, those that change something another one', async (t) => {
  const far = await farSide(t);
  const sender = senderTo(t, far);
  const post = { method: 'POST', body } as const;
  assert.deepEqual(await connectionsOf(sender, far, {}, {}, post, post, {}), [1, 1, 2, 2, 1]);
  assert.deepEqual(sender.figures(), { busy: 0, idle: 2, waiting: 0 });
});

test('a connection is not used again where a body went over it that its method does not have', async (t) => {
  const far = await farSide(t);
  assert.deepEqual(await connectionsOf(senderTo(t, far), far, { body }, {}, {}), [1, 2, 2]);
  far.answer(() => httpReply());
  const remove = { method: 'DELETE', body } as const;
  assert.deepEqual(await connectionsOf(senderTo(t, far), far, remove, remove), [3, 4]);
});

const once200 = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n';
const endings: readonly (readonly [what: string, reply: string])[] = [
  ['says that it closes it', `${once200}Connection: close\r\n\r\nok`],
  ['is HTTP/1.0', `${once200.replace('1.1', '1.0')}\r\nok`],
  ['keeps it for no longer than a request may take', `${once200}Keep-Alive: timeout=2\r\n\r\nok`],
  ['sends more than its reply', `${once200}\r\nok!`],
];
for (const [what, reply] of endings) {
  test(`a connection is not used again where the far side ${what}`, async (t) => {
    const far = await farSide(t, () => reply);
    assert.deepEqual(await connectionsOf(senderTo(t, far), far, {}, {}), [1, 2]);
  });
}

test('a connection on which something comes that nobody asked for is not used again, nor is what came taken for a reply', async (t) => {
  const far = await farSide(t, (_request, socket) => {
    socket.write(`${once200}\r\nok`);
    setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'), 20);
  });
  const sender = senderTo(t, far);
  await sendThrough(sender, `${far.url}/`);
  await sleep(100);
  const { body: second } = await sendThrough(sender, `${far.url}/`);
  assert.equal(second.toString(), 'ok');
  assert.equal(far.requests.at(-1)?.connection, 2);
});

test('what has come on a kept connection by the end of the turn is seen before a request is written to it', async (t) => {
  const far = await farSide(t, (_request, socket) => void socket.end(`${once200}\r\nok`));
  const sender = senderTo(t, far);
  for (let count = 0; count < 50; count += 1) {
    const { status } = await sendThrough(sender, `${far.url}/`, { method: 'POST', body });
    assert.equal(status, 200);
  }
});

test('a far side that answers before it has read a whole request is not sent another on that connection', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.pause();
      socket.write(`${once200}\r\nok`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as { readonly port: number };
  const dialled: unknown[] = [];
  const sender = createSender({
    connect: async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      dialled.push(socket);
      return socket;
    },
  });
  t.after(() => sender.close());
  const large = Buffer.alloc(32 * 1024 ** 2);
  for (const expected of [1, 2]) {
    const { status } = await sendThrough(sender, `http://127.0.0.1:${port}/`, { method: 'POST', body: large });
    assert.deepEqual([status, dialled.length], [200, expected]);
  }
});

/** A sender to a far side with TLS at a port, and how many connections it made. */
function secureSenderTo(t: TestContext, port: number): { readonly sender: PooledSender; readonly dialled: () => number } {
  let dialled = 0;
  const sender = createSender({
    connect: async () => {
      dialled += 1;
      const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      return socket;
    },
  });
  t.after(() => sender.close());
  return { sender, dialled: () => dialled };
}

test('a connection whose reply became whole over TLS while it was paused is read from again', async (t) => {
  // Of many small records one asks the far side to pause; the last ones are decrypted along with it.
  const large = randomBytes(65_536 + 262_144 + 2_000);
  const server = createTlsServer(selfSigned({ names: ['127.0.0.1'] }), (socket) => {
    socket.setMaxSendFragment(512);
    socket.on('error', () => {});
    socket.on('data', () => void socket.write(httpReply({ body: large })));
  });
  const { port } = await listen(t, server);
  const { sender, dialled } = secureSenderTo(t, port);
  for (let count = 0; count < 5; count += 1) {
    const timeouts = { firstByte: 2_000, idle: 2_000 };
    const reply = await sendThrough(sender, `https://127.0.0.1:${port}/`, { pause: 30, timeouts });
    assert.ok(reply.body.equals(large));
  }
  assert.equal(dialled(), 1);
});

test('a connection is used again where its reply came over TLS before Node said that the request was written', async (t) => {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:https').createServer(workerData, (_request, response) => response.end('ok'));
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;
  const far = new Worker(code, { eval: true, workerData: selfSigned({ names: ['127.0.0.1'] }) });
  t.after(() => far.terminate());
  const [port] = (await once(far, 'message')) as [number];
  const { sender, dialled } = secureSenderTo(t, port);
  for (const size of [2, 2, 20_000, 200_000, 2]) {
    const sent = sendThrough(sender, `https://127.0.0.1:${port}/`, { method: 'POST', body: Buffer.alloc(size) });
    // The turn that writes the request lasts until the reply is there.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50));
    await sent;
  }
  assert.equal(dialled(), 1);
});

test('a call that ends while its reply waits for a slow reader leaves no time limit behind', async (t) => {
  const far = await farSide(t, () => httpReply({ body: Buffer.alloc(3_000_000) }));
  const sender = senderTo(t, far);
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const scope = new CallScope({ total: 20_000, clock: systemClock });
  const limits = { timeouts: { firstByte: 5_000, idle: 5_000 }, responseLimit: 100_000_000 };
  const call = { origin: far.url, path: '/', method: 'GET', headers: [], stateChanging: false, ...limits } as const;
  const reply = await sender.send(call, scope);
  await sleep(50);
  scope.end(new Error('over'));
  await assert.rejects(async () => {
    for await (const piece of reply.rest ?? []) assert.ok(piece.length > 0);
  });
  assert.equal(timers(), before);
});

test('a far side that speaks before it is asked is refused, and nothing is sent to it', async (t) => {
  const far = await farSide(t);
  far.onConnection((socket) => void socket.write(`${once200}\r\nok`));
  const sender = createSender({
    connect: async () => {
      const socket = await connectedTo(far.port);
      await until('it speaks', () => socket.readableLength > 0);
      return socket;
    },
  });
  t.after(() => sender.close());
  await assert.rejects(sendThrough(sender, `${far.url}/`, { method: 'POST', body }), { code: 'upstream-protocol-error' });
  assert.equal(far.requests.length, 0);
});

test('a body of any size arrives as it was given, with its length', async (t) => {
  const far = await farSide(t);
  const sender = senderTo(t, far);
  for (const size of [0, 1, 16_384, 16_385, 300_000]) {
    const bytes = randomBytes(size);
    far.answer(() => httpReply());
    await sendThrough(sender, `${far.url}/`, { method: 'PUT', body: bytes, headers: ['x-a', 'é'] });
    assert.ok(far.request.body.equals(bytes));
    assert.equal(
      far.request.head,
      `PUT / HTTP/1.1\r\nhost: ${far.authority}\r\nconnection: keep-alive\r\nx-a: é\r\ncontent-length: ${size}`,
    );
  }
});

const unsendable: readonly (readonly [what: string, call: Parameters<typeof sendThrough>[2]])[] = [
  ['a line end in a header', { headers: ['x-a', 'b\r\nx-c: d'] }],
  ['a NUL in a header', { headers: ['x-a', '\0'] }],
  ['a letter beyond latin-1 in a header', { headers: ['x-a', '\u010a'] }],
  ['a line end in the name of a header', { headers: ['x-a: b\r\nx-c', 'd'] }],
  ['a blank in the name of a header', { headers: ['x-a ', 'b'] }],
  ['a header without a name', { headers: ['', 'b'] }],
  ['a blank in its path', { path: '/a HTTP/1.1' }],
  ['a line end in its path', { path: '/a\r\nb' }],
  ['no path', { path: '' }],
];
for (const [what, call] of unsendable) {
  test(`a call with ${what} is not sent`, async (t) => {
    const far = await farSide(t);
    await assert.rejects(sendThrough(senderTo(t, far), `${far.url}/`, { method: 'POST', ...call }), { code: 'internal-error' });
    assert.equal(far.requests.length, 0);
  });
}

test('a sender that closes finishes what is in flight, closes what is idle, and takes nothing more', async (t) => {
  let answer = (): void => {};
  const far = await farSide(t, async ({ target }) => {
    if (target === '/slow') await new Promise<void>((resolve) => (answer = resolve));
    return `${once200}\r\nok`;
  });
  const sender = createSender({ connect: () => connectedTo(far.port) });
  await sendThrough(sender, `${far.url}/`, { method: 'POST' });
  const slow = sendThrough(sender, `${far.url}/slow`);
  await until('both are there', () => far.requests.length === 2);
  let closed = false;
  const closing = sender.close().then(() => (closed = true));
  await assert.rejects(sendThrough(sender, `${far.url}/`), { code: 'upstream-connect-failed' });
  await sleep(30);
  assert.ok(!closed);
  answer();
  assert.equal((await slow).status, 200);
  await closing;
  assert.deepEqual(sender.figures(), { busy: 0, idle: 0, waiting: 0 });
});

test('a connection of changes is not used again a second later, one of others is, and both are closed in the end', async (t) => {
  const far = await farSide(t, () => `${once200}Keep-Alive: timeout=4\r\n\r\nok`);
  const sender = senderTo(t, far);
  await connectionsOf(sender, far, {}, { method: 'POST' });
  await sleep(1_100);
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }, {}), [1, 2, 3, 1]);
  await until('they are closed', () => sender.figures().idle === 0);
});
