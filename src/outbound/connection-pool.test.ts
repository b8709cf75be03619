import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { systemClock } from '#base/clock.ts';
import { selfSigned } from '../../test/support/certificate.ts';
import { type FarSide, farSide, httpReply } from '../../test/support/far-side.ts';
import { listen } from '../../test/support/listen.ts';
import { connectedTo, sendThrough } from '../../test/support/send-through.ts';
import { until } from '../../test/support/until.ts';
import type { AttemptWatcher } from './attempt.ts';
import { CallScope } from './call-scope.ts';
import type { FarSideReply, OutboundCall } from './outbound-call.ts';
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

/** A call that is on record and under way, and the scope that ends it. */
function begun(
  sender: PooledSender,
  origin: string,
  { attempts, ...given }: Partial<OutboundCall> & { readonly attempts?: AttemptWatcher } = {},
): { readonly reply: Promise<FarSideReply>; readonly scope: CallScope } {
  const scope = new CallScope({ total: 20_000, clock: systemClock, attempts });
  scope.permitChange();
  const limits = { timeouts: { firstByte: 5_000, idle: 5_000 }, responseLimit: 100_000_000 };
  const stateChanging = given.method === 'POST';
  const reply = sender.send({ origin, path: '/', method: 'GET', headers: [], stateChanging, ...limits, ...given }, scope);
  return { reply, scope };
}

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

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
  const before = timers();
  const { reply: coming, scope } = begun(sender, far.url);
  const reply = await coming;
  await sleep(50);
  scope.end(new Error('over'));
  await assert.rejects(async () => {
    for await (const piece of reply.rest ?? []) assert.ok(piece.length > 0);
  });
  assert.equal(timers(), before);
});

const interims = (count: number): string => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(count);
const coded = (bytes: Buffer): Buffer =>
  httpReply({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(bytes, { level: 0 }) });
const limit = 50_000;
const refusedHalfway: readonly (readonly [what: string, reply: string | Buffer, code: string])[] = [
  ['interim answers without end', `${interims(17)}${once200}\r\nok`, 'upstream-protocol-error'],
  ['a body over its limit', httpReply({ body: Buffer.alloc(limit + 1), chunk: limit + 1 }), 'response-too-large'],
  ['a coded body over its limit', coded(Buffer.alloc(limit + 1)), 'response-too-large'],
];
for (const [what, bytes, code] of refusedHalfway) {
  test(`a call that is refused for ${what} is told of once, and leaves no time limit behind`, async (t) => {
    const far = await farSide(t, (_request, socket) => void socket.end(bytes));
    const told: unknown[] = [];
    const attempt = { headers: [], replied: (status: number) => void told.push(status), failed: () => void told.push('failed') };
    const before = timers();
    const attempts = { begin: () => attempt };
    const { reply, scope } = begun(senderTo(t, far), far.url, { attempts, responseLimit: limit });
    await assert.rejects(reply, { code });
    scope.finish();
    assert.equal(timers(), before);
    // So long a decoder that nobody stopped would be at work.
    await sleep(50);
    assert.deepEqual(told, ['failed']);
  });
}

test('a call whose coded reply breaks off is told of once: nothing of it is decoded any more', async (t) => {
  const cut = httpReply({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(Buffer.alloc(400_000)) }).subarray(0, -1);
  const far = await farSide(t, (_request, socket) => void socket.end(cut));
  const told: unknown[] = [];
  const attempt = { headers: [], replied: (status: number) => void told.push(status), failed: () => void told.push('failed') };
  const before = timers();
  const { reply, scope } = begun(senderTo(t, far), far.url, { attempts: { begin: () => attempt } });
  await assert.rejects(reply, { code: 'upstream-closed' });
  scope.finish();
  assert.equal(timers(), before);
  await sleep(50);
  assert.deepEqual(told, ['failed']);
});

test('a call that ends while its coded reply is read leaves the connection alone, which is another one’s by then', async (t) => {
  const small = httpReply({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(Buffer.alloc(2_000_000)) });
  const far = await farSide(t, async (_request, socket) => {
    if (far.requests.length > 1) await sleep(100);
    socket.write(small);
  });
  const sender = senderTo(t, far);
  const first = begun(sender, far.url);
  const { rest } = await first.reply;
  await sleep(50);
  const second = begun(sender, far.url);
  await until('it is there', () => far.requests.length === 2);
  first.scope.end(new Error('over'));
  assert.equal((await second.reply).status, 200);
  assert.deepEqual(
    far.requests.map(({ connection }) => connection),
    [1, 1],
  );
  await assert.rejects(async () => {
    for await (const piece of rest ?? []) assert.ok(piece.length > 0);
  });
  second.scope.end(new Error('over'));
});

test('a reply that has come whole is read to its end, whatever becomes of its call', async (t) => {
  const large = randomBytes(200_000);
  const far = await farSide(t, () => httpReply({ body: large }));
  const sender = senderTo(t, far);
  const { reply, scope } = begun(sender, far.url);
  const { head, rest } = await reply;
  await until('it is whole', () => sender.figures().idle === 1);
  scope.end(new Error('over'));
  const pieces = [head];
  for await (const piece of rest ?? []) pieces.push(piece);
  assert.ok(Buffer.concat(pieces).equals(large));
});

const goesOn = `${coded(Buffer.alloc(limit)).toString('latin1').replace('Length: ', 'Length: 9')}\0\0\0\0`;

const withinLimits: readonly (readonly [what: string, reply: string | Buffer, length: number])[] = [
  ['16 interim answers', `${interims(16)}${once200}\r\nok`, 2],
  ['exactly as many bytes as it may have', httpReply({ body: Buffer.alloc(limit) }), limit],
  ['as many once they are decoded', coded(Buffer.alloc(limit)), limit],
  ['something behind the end of its coding, and does not end itself', Buffer.from(goesOn, 'latin1'), limit],
  ['no body, whatever length a 304 names', `HTTP/1.1 304 X\r\nContent-Length: ${limit + 1}\r\n\r\n`, 0],
  ['no body, whatever length a 204 names', `HTTP/1.1 204 X\r\nContent-Length: ${limit + 1}\r\n\r\n`, 0],
];
for (const [what, bytes, length] of withinLimits) {
  test(`a reply that has ${what} is taken, and leaves no time limit behind`, async (t) => {
    const far = await farSide(t, () => bytes);
    const before = timers();
    const reply = await sendThrough(senderTo(t, far), `${far.url}/`, { responseLimit: limit });
    assert.equal(reply.body.length, length);
    assert.equal(timers(), before);
  });
}

for (const [how, write] of [
  ['as it is', (bytes: Buffer) => httpReply({ body: bytes })],
  ['in gzip', coded],
] as const) {
  test(`a far side is paused for a slow reader, without a limit on its silence, and not longer; ${how}`, async (t) => {
    const large = randomBytes(30_000_000);
    let sending: Socket | undefined;
    const far = await farSide(t, (_request, socket) => {
      sending = socket;
      return write(large);
    });
    const before = timers();
    const { reply, scope } = begun(senderTo(t, far), far.url, { timeouts: { firstByte: 2_000, idle: 200 } });
    const { head, rest } = await reply;
    await sleep(500);
    assert.ok((sending?.writableLength ?? 0) > 0, 'all of it was taken');
    const pieces = [head];
    for await (const piece of rest ?? []) pieces.push(piece);
    scope.finish();
    assert.ok(Buffer.concat(pieces).equals(large));
    assert.equal(timers(), before);
  });

  test(`a far side that stalls once a slow reader has gone on meets the limit on its silence; ${how}`, async (t) => {
    const far = await farSide(t, (_request, socket) => void socket.write(write(randomBytes(2_000_000)).subarray(0, -100_000)));
    const { reply, scope } = begun(senderTo(t, far), far.url, { timeouts: { firstByte: 2_000, idle: 200 } });
    const { rest } = await reply;
    await sleep(300);
    const begin = systemClock.monotonic();
    const read = async (): Promise<void> => {
      for await (const piece of rest ?? []) assert.ok(piece.length > 0);
    };
    await assert.rejects(read, { code: 'upstream-timeout' });
    assert.ok(systemClock.monotonic() - begin < 5_000);
    scope.finish();
  });
}

test('a far side that never answers meets the limit on its first byte', async (t) => {
  const far = await farSide(t, () => undefined);
  const { reply, scope } = begun(senderTo(t, far), far.url, { timeouts: { firstByte: 100, idle: 5_000 } });
  await assert.rejects(reply, { code: 'upstream-timeout', message: /timeouts\.firstByte/u });
  scope.finish();
});

test('a call whose connection is closed by whatever it is ends with it', async (t) => {
  const far = await farSide(t, () => undefined);
  const sockets: Socket[] = [];
  const sender = createSender({
    connect: async () => {
      const socket = await connectedTo(far.port);
      sockets.push(socket);
      return socket;
    },
  });
  t.after(() => sender.close());
  const { reply, scope } = begun(sender, far.url, { method: 'POST' });
  await until('it is there', () => far.requests.length === 1);
  sockets[0]?.destroy();
  await assert.rejects(reply, { code: 'outcome-unknown', message: /broke the connection off/u });
  scope.finish();
});

test('a call that is over before its turn comes is not sent, and its connection is kept for the next', async (t) => {
  const far = await farSide(t);
  const sender = senderTo(t, far);
  await sendThrough(sender, `${far.url}/`, { method: 'POST' });
  const { reply, scope } = begun(sender, far.url, { method: 'POST' });
  scope.end(new Error('over'));
  await assert.rejects(reply);
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }), [1, 1]);
});

test('a call that is over before its connection is made is not sent, and the connection is kept for the next', async (t) => {
  const far = await farSide(t);
  const made = Promise.withResolvers<Socket>();
  const sender = createSender({ connect: () => made.promise });
  t.after(() => sender.close());
  const { reply, scope } = begun(sender, far.url, { method: 'POST' });
  await until('its turn came', () => sender.figures().waiting === 1);
  await new Promise(setImmediate);
  scope.end(new Error('over'));
  await assert.rejects(reply);
  made.resolve(await connectedTo(far.port));
  await until('it is made', () => sender.figures().waiting === 0);
  assert.deepEqual(sender.figures(), { busy: 0, idle: 1, waiting: 0 });
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }), [1]);
});

test('a far side that closes a connection at once is sent nothing', async (t) => {
  const far = await farSide(t);
  far.onConnection((socket) => void socket.end());
  const sender = createSender({
    connect: async () => {
      const socket = await connectedTo(far.port);
      await until('it is closed', () => !socket.writable);
      return socket;
    },
  });
  t.after(() => sender.close());
  await assert.rejects(sendThrough(sender, `${far.url}/`, { method: 'POST', body }), { code: 'upstream-connect-failed' });
});

test('a sender that closes sends what waited for its turn', async (t) => {
  const far = await farSide(t);
  const sender = createSender({ connect: () => connectedTo(far.port) });
  const { reply, scope } = begun(sender, far.url);
  await sender.close();
  assert.equal(far.requests.length, 1);
  assert.equal((await reply).status, 200);
  scope.finish();
});

test('a sender closes though what waited for its turn is over', { timeout: 5_000 }, async () => {
  const sender = createSender({ connect: () => Promise.reject(new Error('nothing is dialled here')) });
  const { reply, scope } = begun(sender, 'http://127.0.0.1:1');
  scope.end(new Error('over'));
  await Promise.all([assert.rejects(reply), sender.close()]);
});

test('a sender closes though the connection that it waits for cannot be made', { timeout: 5_000 }, async () => {
  const made = Promise.withResolvers<Socket>();
  const sender = createSender({ connect: () => made.promise });
  const { reply, scope } = begun(sender, 'http://127.0.0.1:1');
  await new Promise(setImmediate);
  let closed = false;
  const closing = sender.close().then(() => (closed = true));
  await sleep(20);
  assert.ok(!closed);
  made.reject(new Error('refused'));
  await Promise.all([assert.rejects(reply), closing]);
  scope.finish();
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
  assert.deepEqual(sender.figures(), { busy: 1, idle: 0, waiting: 0 });
  answer();
  assert.equal((await slow).status, 200);
  assert.equal(sender.figures().idle, 0);
  await closing;
  assert.deepEqual(sender.figures(), { busy: 0, idle: 0, waiting: 0 });
});

test('a connection of changes is not used again a second later, one of others is, and both are closed in the end', async (t) => {
  const far = await farSide(t, () => `${once200}Keep-Alive: timeout=4\r\n\r\nok`);
  const sender = senderTo(t, far);
  await connectionsOf(sender, far, {}, { method: 'POST' });
  // Its time is over between two looks for what was idle for too long.
  await sleep(250);
  await connectionsOf(sender, far, { method: 'POST' });
  await sleep(1_050);
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }, {}), [1, 2, 2, 3, 1]);
  await until('they are closed', () => sender.figures().idle + sender.figures().busy === 0);
});
