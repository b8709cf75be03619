import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { Secret } from '#base/secret.ts';
import { listen } from '../../../test/support/listen.ts';
import { createPostgresSessions } from './postgres-sessions.ts';

/** A message of the server: its type, its length, its content (PostgreSQL, "Message Formats"). */
function message(type: string, content: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + Buffer.byteLength(content), 1);
  return Buffer.concat([head, Buffer.from(content)]);
}

const authenticated = message('R', '\0\0\0\0');
const ready = message('Z', 'I');
const shuttingDown = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');

test('a server that shuts down as it accepts a connection fails the call, and not the process', async (t) => {
  // One packet: the error arrives before the caller has the connection.
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, shuttingDown])));
  });
  const { port } = await listen(t, server);
  const url = new Secret(`postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`);
  const sessions = createPostgresSessions({ url, connections: 1, statementLimit: 5_000, idleLimit: 5_000 });
  t.after(() => sessions.close());
  for (const _attempt of [1, 2]) {
    await assert.rejects(sessions.open(), { code: 'store-unavailable' });
  }
  assert.deepEqual(sessions.figures(), { busy: 0, idle: 0, waiting: 0 });
});
