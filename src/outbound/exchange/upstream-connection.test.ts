import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { senderTo, sendThrough } from '../../../test/support/callers/send-through.ts';
import { listen } from '../../../test/support/listen.ts';
import { selfSigned } from '../../../test/support/upstreams/certificate.ts';
import { httpReply, upstream } from '../../../test/support/upstreams/upstream.ts';
import { createSender, type PooledSender } from '../call/sender.ts';

const once200 = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n';

test('an upstream that answers before it has read a whole request gets no other one on that connection', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.pause();
      socket.write(`${once200}\r\nok`);
    });
  });
  const { port } = await listen(t, server);
  const { sender, sockets } = senderTo(t, port);
  const large = Buffer.alloc(32 * 1024 ** 2);
  for (const expected of [1, 2]) {
    const { status } = await sendThrough(sender, `http://127.0.0.1:${port}/`, { method: 'POST', body: large });
    assert.deepEqual([status, sockets.length], [200, expected]);
  }
});

test('bytes that Node read while the reader paused reach it, also where the upstream resets the connection after them', async (t) => {
  const body = randomBytes(400_000);
  const [whole, last] = [body.subarray(0, 370_000), body.subarray(370_000)];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.write(whole, () => setTimeout(() => socket.write(last, () => setTimeout(() => socket.resetAndDestroy(), 50)), 50));
    });
  });
  const { port } = await listen(t, server);
  const { sender } = senderTo(t, port);
  const reply = await sendThrough(sender, `http://127.0.0.1:${port}/`, { pause: 300 });
  assert.ok(reply.body.equals(body));
});

/** A sender to an upstream with TLS at a port, and how many connections it made. */
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

test('a connection is read again after its reply over TLS ended while it was paused', async (t) => {
  // One of many small records makes the reader pause. Node decrypts the last ones together with it.
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

test('a connection is used again where its reply over TLS came before Node reported the request as written', async (t) => {
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
    // The iteration that writes the request lasts until the reply has arrived.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50));
    await sent;
  }
  assert.equal(dialled(), 1);
});

test('a body of any size arrives unchanged, with its length', async (t) => {
  const far = await upstream(t);
  const sender = senderTo(t, far.port).sender;
  for (const size of [0, 1, 16_384, 16_385, 300_000]) {
    const bytes = randomBytes(size);
    far.answer(() => httpReply());
    await sendThrough(sender, `${far.url}/`, { method: 'PUT', body: bytes, headers: ['x-a', 'é'] });
    assert.ok(far.request.body.equals(bytes));
    assert.equal(far.request.head, `PUT / HTTP/1.1\r\nhost: ${far.authority}\r\nx-a: é\r\ncontent-length: ${size}`);
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
    const far = await upstream(t);
    await assert.rejects(sendThrough(senderTo(t, far.port).sender, `${far.url}/`, { method: 'POST', ...call }), {
      code: 'internal-error',
    });
    assert.equal(far.requests.length, 0);
  });
}
