import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { GatewayError } from '#base/gateway-error.ts';
import { listen } from '../../test/support/listen.ts';
import { readWhole } from './body-arrival.ts';

interface Read {
  readonly error: GatewayError | undefined;
  readonly body: Buffer | undefined;
}

/** A server that reads the body of each request, then answers, and keeps the results in order. */
async function reader(t: TestContext, limit: number) {
  const read: Read[] = [];
  const done = new EventTarget();
  const server = createServer((request: IncomingMessage, response) => {
    const noted = (one: Partial<Read>): void => {
      read.push({ error: undefined, body: undefined, ...one });
      done.dispatchEvent(new Event('read'));
      response.end();
    };
    readWhole(request, limit).then(
      (body) => noted({ body }),
      (error: GatewayError) => noted({ error }),
    );
  });
  const { port } = await listen(t, server);
  const send = async (text: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    const bodyRead = once(done, 'read');
    socket.on('error', () => undefined).write(`POST / HTTP/1.1\r\nHost: a\r\n${text}`);
    await bodyRead;
    return socket;
  };
  return { read, send, done, port };
}

test('a body that is kept stays the same while later bodies are read', async (t) => {
  const { read, send } = await reader(t, 100_000);
  const letters = 'abcdefgh'.split('');
  for (const letter of letters) await send(`Content-Length: 3000\r\n\r\n${letter.repeat(3000)}`);
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n';
  await send(chunked);
  assert.deepEqual(
    read.map(({ body }) => String(body)),
    [...letters.map((letter) => letter.repeat(3000)), 'xyz'],
  );
});

test('a request without a body has none', async (t) => {
  const { read, send } = await reader(t, 10);
  await send('\r\n');
  await send('Content-Length: 0\r\n\r\n');
  assert.deepEqual(read, [
    { error: undefined, body: undefined },
    { error: undefined, body: undefined },
  ]);
});

test('a body over the limit is 413 once, and one at the limit is accepted', async (t) => {
  const { read, send } = await reader(t, 5);
  await send('Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n');
  const socket = await send('Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n');
  socket.write('3\r\nghi\r\n0\r\n\r\n');
  await send('\r\n');
  assert.deepEqual(
    read.map(({ error, body }) => error?.code ?? body?.toString()),
    ['abcde', 'body-too-large', undefined],
  );
});

test('a body whose connection breaks is 400 once', async (t) => {
  const { read, done, port } = await reader(t, 5000);
  const socket = connect(port, '127.0.0.1');
  const bodyRead = once(done, 'read');
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\nabc', () => setTimeout(() => socket.destroy(), 50));
  await bodyRead;
  assert.deepEqual(
    read.map(({ error }) => error?.code),
    ['malformed-request'],
  );
});
