import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { connect as connectSecurely } from 'node:tls';
import { listen } from '../../../test/support/listen.ts';
import { selfSigned } from '../../../test/support/upstreams/certificate.ts';
import { breakOff, breakOffReply, rememberTransports } from './break-off.ts';

/** A connection to a server with this handler, and how it ended: with the code of an error, or with `end`. */
async function conversation(
  t: TestContext,
  secure: boolean,
  handle: RequestListener,
): Promise<{ readonly server: Server; readonly ended: Promise<unknown>; readonly socket: Socket }> {
  const server = secure ? createSecureServer(selfSigned({ names: ['localhost'] }), handle) : createServer(handle);
  if (secure) rememberTransports(server);
  const { port } = await listen(t, server);
  const socket = secure ? connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
  t.after(() => void socket.destroy());
  const ended = new Promise((resolve) => {
    socket.once('end', () => resolve('end')).once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  await once(socket, secure ? 'secureConnect' : 'connect');
  socket.write('GET / HTTP/1.0\r\n\r\n');
  return { server, ended, socket };
}

for (const secure of [false, true]) {
  describe(`breaking off a ${secure ? 'TLS ' : ''}connection`, () => {
    test('resets it within a reply, and closes the reply', async (t) => {
      const closed = Promise.withResolvers<boolean>();
      const { ended, socket } = await conversation(t, secure, (_request, response) => {
        response.once('close', () => closed.resolve(response.writableFinished));
        response.write('a part');
        socket.once('data', () => {
          breakOffReply(response);
          assert.equal(response.destroyed, true);
        });
      });
      assert.equal(await ended, 'ECONNRESET');
      assert.equal(await closed.promise, false);
    });

    test('resets it also where bytes of the reply wait for the caller to read, and does no harm a second time', async (t) => {
      const { ended, socket } = await conversation(t, secure, (_request, response) => {
        response.write(Buffer.alloc(8 * 1024 ** 2), (error) => assert.ok(error, 'the caller got all of it'));
        setImmediate(() => {
          breakOff(response.socket ?? assert.fail());
          breakOffReply(response);
          breakOffReply(response);
          socket.resume();
        });
      });
      assert.equal(await ended, 'ECONNRESET');
    });
  });
}
