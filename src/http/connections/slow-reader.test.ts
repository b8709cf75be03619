import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { lapse } from '../../../test/support/lapse.ts';
import { listen } from '../../../test/support/listen.ts';
import { until } from '../../../test/support/until.ts';
import { trackConnections } from './open-connections.ts';
import { closeStalledConnections, endReply, writePiece } from './slow-reader.ts';

const stall = 300;
/** Far more bytes than the buffers of both sockets hold. */
const long = Buffer.alloc(32 * 1024 ** 2, 'a');

async function serve(
  t: TestContext,
  answer: (response: ServerResponse) => unknown,
  limit = stall,
): Promise<{ server: Server; port: number }> {
  const server = createServer((request: IncomingMessage, response) => {
    response.once('close', connections.begin(request));
    answer(response);
  });
  const connections = trackConnections(server, { secure: false });
  closeStalledConnections(server, connections, limit);
  const { port } = await listen(t, server);
  return { server, port };
}

async function ask(t: TestContext, port: number, times = 1): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(times));
  return socket;
}

describe('a caller that reads nothing of its reply', () => {
  test('is disconnected, and the reply is cut off', async (t) => {
    const cut = Promise.withResolvers<boolean>();
    const { port } = await serve(t, (response) => {
      response.once('close', () => cut.resolve(!response.writableFinished));
      response.end(long);
    });
    await ask(t, port);
    assert.equal(await cut.promise, true);
  });

  test('is disconnected after many requests with small replies, and the gateway does not keep those replies in memory', async (t) => {
    let answered = 0;
    const piece = Buffer.alloc(100_000, 'a');
    const closed = Promise.withResolvers<void>();
    const { port, server } = await serve(t, (response) => {
      answered += 1;
      response.end(piece);
    });
    server.once('connection', (socket) => socket.once('close', () => closed.resolve()));
    // Node stops reading once replies wait, but handles the requests that it has read by then (64 KiB).
    const asked = 20_000;
    await ask(t, port, asked);
    await closed.promise;
    assert.ok(answered < asked / 2, `${answered} replies`);
  });
});

test('a caller that sends no request is disconnected', { timeout: 5_000 }, async (t) => {
  const { port } = await serve(t, (response) => response.end('a'));
  const socket = await ask(t, port, 0);
  socket.resume();
  await once(socket, 'close');
});

describe('a caller that reads its reply', () => {
  test('slowly but steadily stays connected', async (t) => {
    const { port } = await serve(t, (response) => response.end(long), 1_500);
    const socket = await ask(t, port);
    let got = 0;
    // The whole reply takes longer than the limit.
    while (got < long.length) {
      const chunk = socket.read() as Buffer | null;
      got += chunk?.length ?? 0;
      if (socket.destroyed) break;
      await lapse(chunk === null ? 1 : 5, 'the reader is slow');
    }
    assert.ok(got > long.length);
  });

  test('and waits for it longer than the limit stays connected', async (t) => {
    const { port } = await serve(t, async (response) => {
      await lapse(4 * stall, 'the limit of a reader would pass');
      response.end('late');
    });
    const socket = await ask(t, port);
    socket.resume();
    const [data] = (await once(socket, 'data')) as [Buffer];
    assert.match(data.toString(), /late$/u);
  });

  test('in pieces gets each of them before the next is written', async (t) => {
    const { port } = await serve(t, async (response) => {
      for (const word of ['a', 'b', 'c']) await writePiece(response, Buffer.from(word));
      endReply(response, '');
    });
    const socket = await ask(t, port);
    socket.resume();
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until('the reply has ended', () => text.endsWith('0\r\n\r\n'));
    assert.match(text, /a\r\n1\r\nb\r\n1\r\nc/u);
  });
});

describe('a piece for a caller that has just left', () => {
  // Node keeps the bytes that a closed connection does not take. It drops them, and their callback, when it closes the response.
  test('rejects where the connection closed before the response saw it', { timeout: 5_000 }, async (t) => {
    const outcome = Promise.withResolvers<unknown>();
    const { port } = await serve(t, (response) => {
      response.socket?.destroy();
      writePiece(response, Buffer.from('a')).catch(outcome.resolve);
    });
    await ask(t, port);
    assert.ok((await outcome.promise) instanceof Error);
  });

  test('rejects where an earlier reply of the connection was still due', { timeout: 5_000 }, async (t) => {
    const outcome = Promise.withResolvers<unknown>();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    const { port } = await serve(t, (response) => {
      count += 1;
      if (count === 1) return first.resolve();
      writePiece(response, Buffer.from('a')).catch(outcome.resolve);
      second.resolve();
    });
    const socket = await ask(t, port, 2);
    await Promise.all([first.promise, second.promise]);
    socket.destroy();
    assert.ok((await outcome.promise) instanceof Error);
  });
});

describe('a piece that takes too long', () => {
  test('rejects and ends the connection', async (t) => {
    const outcome = Promise.withResolvers<unknown>();
    const { port } = await serve(t, (response) => writePiece(response, long, 50).catch(outcome.resolve));
    await ask(t, port);
    assert.ok((await outcome.promise) instanceof Error);
  });

  test('at the end of a reply ends the connection', async (t) => {
    const cut = Promise.withResolvers<boolean>();
    const { port } = await serve(t, (response) => {
      response.once('close', () => cut.resolve(!response.writableFinished));
      endReply(response, long, 50);
    });
    await ask(t, port);
    assert.equal(await cut.promise, true);
  });
});
