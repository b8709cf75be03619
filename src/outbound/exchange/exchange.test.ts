import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '#base/clock.ts';
import { beginThrough, senderTo, sendThrough } from '../../../test/support/callers/send-through.ts';
import { lapse } from '../../../test/support/lapse.ts';
import { until } from '../../../test/support/until.ts';
import { httpReply, upstream } from '../../../test/support/upstreams/upstream.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

const once200 = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n';

test('a call that ends while its reply waits for a slow reader leaves no time limit behind', async (t) => {
  const far = await upstream(t, () => httpReply({ body: Buffer.alloc(3_000_000) }));
  const sender = senderTo(t, far.port).sender;
  const before = timers();
  const { reply: coming, scope } = beginThrough(sender, far.url);
  const reply = await coming;
  await lapse(50, 'the reply waits for its reader');
  scope.abort(new Error('over'));
  await assert.rejects(async () => {
    for await (const piece of reply.rest ?? []) assert.ok(piece.length > 0);
  });
  assert.equal(timers(), before);
});

test('replies that arrive at the same time keep their own bytes', async (t) => {
  const bodies = Array.from({ length: 12 }, (_, index) => randomBytes(index % 2 === 0 ? 300 : 300_000));
  let answered = 0;
  const far = await upstream(t, () => {
    answered += 1;
    return httpReply({ body: bodies[answered - 1] ?? Buffer.alloc(0), chunk: 100_000 });
  });
  const { sender } = senderTo(t, far.port);
  const replies = await Promise.all(bodies.map(() => sendThrough(sender, `${far.url}/`)));
  const inHex = (all: readonly Buffer[]): readonly string[] => all.map((each) => each.toString('hex')).toSorted();
  assert.ok(inHex(replies.map(({ body }) => body)).join() === inHex(bodies).join());
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
  test(`a call that is refused for ${what} fails once, and leaves no time limit behind`, async (t) => {
    const far = await upstream(t, (_request, socket) => void socket.end(bytes));
    const told: unknown[] = [];
    const attempt = { headers: [], replied: (status: number) => void told.push(status), failed: () => void told.push('failed') };
    const before = timers();
    const attempts = { begin: () => attempt };
    const { reply, scope } = beginThrough(senderTo(t, far.port).sender, far.url, { attempts, responseLimit: limit });
    await assert.rejects(reply, { code });
    scope.end();
    assert.equal(timers(), before);
    await lapse(50, 'a decoder that was not stopped would work');
    assert.deepEqual(told, ['failed']);
  });
}

test('a call whose coded reply breaks off fails once, and its reply is not decoded further', async (t) => {
  const cut = httpReply({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(Buffer.alloc(400_000)) }).subarray(0, -1);
  const far = await upstream(t, (_request, socket) => void socket.end(cut));
  const told: unknown[] = [];
  const attempt = { headers: [], replied: (status: number) => void told.push(status), failed: () => void told.push('failed') };
  const before = timers();
  const { reply, scope } = beginThrough(senderTo(t, far.port).sender, far.url, { attempts: { begin: () => attempt } });
  await assert.rejects(reply, { code: 'upstream-closed' });
  scope.end();
  assert.equal(timers(), before);
  await lapse(50, 'a decoder that was not stopped would work');
  assert.deepEqual(told, ['failed']);
});

test('a call that ends during decoding leaves its connection alone, which belongs to another call by then', async (t) => {
  const small = httpReply({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(Buffer.alloc(2_000_000)) });
  const far = await upstream(t, async (_request, socket) => {
    if (far.requests.length > 1) await lapse(100, 'the first call ends meanwhile');
    socket.write(small);
  });
  const sender = senderTo(t, far.port).sender;
  const first = beginThrough(sender, far.url);
  const { rest } = await first.reply;
  await lapse(50, 'the first reply is being decoded');
  const second = beginThrough(sender, far.url);
  await until('it is there', () => far.requests.length === 2);
  first.scope.abort(new Error('over'));
  assert.equal((await second.reply).status, 200);
  assert.deepEqual(
    far.requests.map(({ connection }) => connection),
    [1, 1],
  );
  await assert.rejects(async () => {
    for await (const piece of rest ?? []) assert.ok(piece.length > 0);
  });
  second.scope.abort(new Error('over'));
});

test('a reply that has arrived completely is read to its end, also where its call is aborted', async (t) => {
  const large = randomBytes(200_000);
  const far = await upstream(t, () => httpReply({ body: large }));
  const sender = senderTo(t, far.port).sender;
  const { reply, scope } = beginThrough(sender, far.url);
  const { head, rest } = await reply;
  await until('it is whole', () => sender.figures().idle === 1);
  scope.abort(new Error('over'));
  const pieces = [head];
  for await (const piece of rest ?? []) pieces.push(piece);
  assert.ok(Buffer.concat(pieces).equals(large));
});

const goesOn = `${coded(Buffer.alloc(limit)).toString('latin1').replace('Length: ', 'Length: 9')}\0\0\0\0`;

const withinLimits: readonly (readonly [what: string, reply: string | Buffer, length: number])[] = [
  ['16 interim answers', `${interims(16)}${once200}\r\nok`, 2],
  ['exactly as many bytes as it may have', httpReply({ body: Buffer.alloc(limit) }), limit],
  ['exactly as many bytes after decoding', coded(Buffer.alloc(limit)), limit],
  ['bytes after the end of its coding, and does not end itself', Buffer.from(goesOn, 'latin1'), limit],
  [
    'no body, although its status is 304 and it has a Content-Length',
    `HTTP/1.1 304 X\r\nContent-Length: ${limit + 1}\r\n\r\n`,
    0,
  ],
  [
    'no body, although its status is 204 and it has a Content-Length',
    `HTTP/1.1 204 X\r\nContent-Length: ${limit + 1}\r\n\r\n`,
    0,
  ],
];
for (const [what, bytes, length] of withinLimits) {
  test(`a reply that has ${what} is accepted, and leaves no time limit behind`, async (t) => {
    const far = await upstream(t, () => bytes);
    const before = timers();
    const reply = await sendThrough(senderTo(t, far.port).sender, `${far.url}/`, { responseLimit: limit });
    assert.equal(reply.body.length, length);
    assert.equal(timers(), before);
  });
}

for (const [how, write] of [
  ['as it is', (bytes: Buffer) => httpReply({ body: bytes })],
  ['in gzip', coded],
] as const) {
  test(`an upstream is paused only as long as its reader is slow, without a limit on its silence; ${how}`, async (t) => {
    const large = randomBytes(30_000_000);
    let sending: Socket | undefined;
    const far = await upstream(t, (_request, socket) => {
      sending = socket;
      return write(large);
    });
    const before = timers();
    const { reply, scope } = beginThrough(senderTo(t, far.port).sender, far.url, { timeouts: { firstByte: 2_000, idle: 200 } });
    const { head, rest } = await reply;
    await lapse(500, 'the limit of 200 ms on silence would pass');
    assert.ok((sending?.writableLength ?? 0) > 0, 'all of it was taken');
    const pieces = [head];
    for await (const piece of rest ?? []) pieces.push(piece);
    scope.end();
    assert.ok(Buffer.concat(pieces).equals(large));
    assert.equal(timers(), before);
  });

  test(`an upstream that stalls after a slow reader has resumed meets the limit on its silence; ${how}`, async (t) => {
    const far = await upstream(t, (_request, socket) => void socket.write(write(randomBytes(2_000_000)).subarray(0, -100_000)));
    const { reply, scope } = beginThrough(senderTo(t, far.port).sender, far.url, { timeouts: { firstByte: 2_000, idle: 200 } });
    const { rest } = await reply;
    await lapse(300, 'the limit of 200 ms on silence would pass');
    const begin = systemClock.monotonic();
    const read = async (): Promise<void> => {
      for await (const piece of rest ?? []) assert.ok(piece.length > 0);
    };
    await assert.rejects(read, { code: 'upstream-timeout' });
    assert.ok(systemClock.monotonic() - begin < 5_000);
    scope.end();
  });
}

test('an upstream that never answers meets the limit on its first byte', async (t) => {
  const far = await upstream(t, () => undefined);
  const { reply, scope } = beginThrough(senderTo(t, far.port).sender, far.url, { timeouts: { firstByte: 100, idle: 5_000 } });
  await assert.rejects(reply, { code: 'upstream-timeout', message: /timeouts\.firstByte/u });
  scope.end();
});

test('a call ends when its socket is destroyed', async (t) => {
  const far = await upstream(t, () => undefined);
  const { sender, sockets } = senderTo(t, far.port);
  const { reply, scope } = beginThrough(sender, far.url, { method: 'POST' });
  await until('it is there', () => far.requests.length === 1);
  sockets[0]?.destroy();
  await assert.rejects(reply, { code: 'outcome-unknown', message: /broke the connection off/u });
  scope.end();
});
