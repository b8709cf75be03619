import assert from 'node:assert/strict';
import { type Socket } from 'node:net';
import { test } from 'node:test';
import { beginThrough, connectedTo, senderTo, sendThrough } from '../../../test/support/callers/send-through.ts';
import { lapse } from '../../../test/support/lapse.ts';
import { until } from '../../../test/support/until.ts';
import { httpReply, type Upstream, upstream } from '../../../test/support/upstreams/upstream.ts';
import { createSender, type PooledSender } from '../call/sender.ts';

async function connectionsOf(
  sender: PooledSender,
  far: Upstream,
  ...calls: readonly Parameters<typeof sendThrough>[2][]
): Promise<readonly number[]> {
  for (const call of calls) await sendThrough(sender, `${far.url}/`, call);
  return far.requests.map(({ connection }) => connection);
}

const body = Buffer.from('{}');

test('queries in order share one connection, state-changing calls another', async (t) => {
  const far = await upstream(t);
  const sender = senderTo(t, far.port).sender;
  const post = { method: 'POST', body } as const;
  assert.deepEqual(await connectionsOf(sender, far, {}, {}, post, post, {}), [1, 1, 2, 2, 1]);
  assert.deepEqual(sender.figures(), { busy: 0, idle: 2, waiting: 0 });
});

test('a connection is not used again after a body that its method does not expect', async (t) => {
  const far = await upstream(t);
  assert.deepEqual(await connectionsOf(senderTo(t, far.port).sender, far, { body }, {}, {}), [1, 2, 2]);
  far.answer(() => httpReply());
  const remove = { method: 'DELETE', body } as const;
  assert.deepEqual(await connectionsOf(senderTo(t, far.port).sender, far, remove, remove), [3, 4]);
});

const once200 = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n';
const endings: readonly (readonly [what: string, reply: string])[] = [
  ['says that it closes it', `${once200}Connection: close\r\n\r\nok`],
  ['is HTTP/1.0', `${once200.replace('1.1', '1.0')}\r\nok`],
  ['keeps it for no longer than a request may take', `${once200}Keep-Alive: timeout=2\r\n\r\nok`],
  ['sends more than its reply', `${once200}\r\nok!`],
];
for (const [what, reply] of endings) {
  test(`a connection is not used again where the upstream ${what}`, async (t) => {
    const far = await upstream(t, () => reply);
    assert.deepEqual(await connectionsOf(senderTo(t, far.port).sender, far, {}, {}), [1, 2]);
  });
}

test('a connection that brings bytes without a request is not used again, and the bytes are not taken for a reply', async (t) => {
  const far = await upstream(t, (_request, socket) => {
    socket.write(`${once200}\r\nok`);
    setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'), 20);
  });
  const sender = senderTo(t, far.port).sender;
  await sendThrough(sender, `${far.url}/`);
  await until('the connection is closed', () => sender.figures().idle === 0);
  const { body: second } = await sendThrough(sender, `${far.url}/`);
  assert.equal(second.toString(), 'ok');
  assert.equal(far.requests.at(-1)?.connection, 2);
});

test('the end of a kept connection in the same iteration of the event loop is seen before a request is written to it', async (t) => {
  const far = await upstream(t, (_request, socket) => void socket.end(`${once200}\r\nok`));
  const sender = senderTo(t, far.port).sender;
  for (let count = 0; count < 50; count += 1) {
    const { status } = await sendThrough(sender, `${far.url}/`, { method: 'POST', body });
    assert.equal(status, 200);
  }
});

test('a call that ends before the check phase is not sent, and its connection is kept for the next call', async (t) => {
  const far = await upstream(t);
  const sender = senderTo(t, far.port).sender;
  await sendThrough(sender, `${far.url}/`, { method: 'POST' });
  const { reply, scope } = beginThrough(sender, far.url, { method: 'POST' });
  scope.abort(new Error('over'));
  await assert.rejects(reply);
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }), [1, 1]);
});

test('a call that ends before its connection is made is not sent, and the connection is kept for the next call', async (t) => {
  const far = await upstream(t);
  const made = Promise.withResolvers<Socket>();
  const sender = createSender({ connect: () => made.promise });
  t.after(() => sender.close());
  const { reply, scope } = beginThrough(sender, far.url, { method: 'POST' });
  await until('it waits for its connection', () => sender.figures().waiting === 1);
  await new Promise(setImmediate);
  scope.abort(new Error('over'));
  await assert.rejects(reply);
  made.resolve(await connectedTo(far.port));
  await until('it is made', () => sender.figures().waiting === 0);
  assert.deepEqual(sender.figures(), { busy: 0, idle: 1, waiting: 0 });
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }), [1]);
});

test('an upstream that closes a connection at once gets no request', async (t) => {
  const far = await upstream(t);
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

test('a sender that closes sends the calls that wait for the check phase', async (t) => {
  const far = await upstream(t);
  const sender = createSender({ connect: () => connectedTo(far.port) });
  const { reply, scope } = beginThrough(sender, far.url);
  await sender.close();
  assert.equal(far.requests.length, 1);
  assert.equal((await reply).status, 200);
  scope.end();
});

test('a sender closes although the call that waited for the check phase has ended', { timeout: 5_000 }, async () => {
  const sender = createSender({ connect: () => Promise.reject(new Error('nothing is dialled here')) });
  const { reply, scope } = beginThrough(sender, 'http://127.0.0.1:1');
  scope.abort(new Error('over'));
  await Promise.all([assert.rejects(reply), sender.close()]);
});

test('a sender closes although the connection that it waits for cannot be made', { timeout: 5_000 }, async () => {
  const made = Promise.withResolvers<Socket>();
  const sender = createSender({ connect: () => made.promise });
  const { reply, scope } = beginThrough(sender, 'http://127.0.0.1:1');
  await new Promise(setImmediate);
  let closed = false;
  const closing = sender.close().then(() => (closed = true));
  await lapse(20, 'the sender would close');
  assert.ok(!closed);
  made.reject(new Error('refused'));
  await Promise.all([assert.rejects(reply), closing]);
  scope.end();
});

test('an upstream that sends bytes before a request is refused and gets no request', async (t) => {
  const far = await upstream(t);
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

test('a sender that closes ends the calls in flight, closes idle connections, and refuses new calls', async (t) => {
  let answer = (): void => {};
  const far = await upstream(t, async ({ target }) => {
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
  await lapse(30, 'the sender would close');
  assert.ok(!closed);
  assert.deepEqual(sender.figures(), { busy: 1, idle: 0, waiting: 0 });
  answer();
  assert.equal((await slow).status, 200);
  assert.equal(sender.figures().idle, 0);
  await closing;
  assert.deepEqual(sender.figures(), { busy: 0, idle: 0, waiting: 0 });
});

test('a connection of changes is not used again after a second, one of queries is, and both are closed in the end', async (t) => {
  const far = await upstream(t, () => `${once200}Keep-Alive: timeout=4\r\n\r\nok`);
  const sender = senderTo(t, far.port).sender;
  await connectionsOf(sender, far, {}, { method: 'POST' });
  await lapse(250, 'the idle time passes between two sweeps');
  await connectionsOf(sender, far, { method: 'POST' });
  await lapse(1_050, 'the connection is idle for more than a second');
  assert.deepEqual(await connectionsOf(sender, far, { method: 'POST' }, {}), [1, 2, 2, 3, 1]);
  await until('they are closed', () => sender.figures().idle + sender.figures().busy === 0);
});
