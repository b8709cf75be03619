import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { connect as connectSecurely } from 'node:tls';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { upstream } from './support/upstreams/upstream.ts';

// A long reply that the gateway breaks off ends with a reset. HTTP/1.0 and many programs take the end of the stream, also of a
// TLS stream, for the end of the reply.

const owner = { after };
const { cert, key } = createAuthority().issue({ names: ['127.0.0.1'] });
const tls = { certFile: temporaryFile(owner, 'cert.pem', cert), keyFile: temporaryFile(owner, 'key.pem', key) };

const half = Buffer.alloc(512 * 1024, 'x');
const far = await upstream(owner, (_request, socket) => {
  socket.write(`HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nContent-Length: ${2 * half.length}\r\n\r\n`);
  socket.end(half);
});
/** It sends the first half of a long reply, and then nothing. */
const silent = await upstream(owner, (_request, socket) => {
  socket.write(`HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nContent-Length: ${2 * half.length}\r\n\r\n`);
  socket.write(half);
});

function started(t: Owner, url: string, server: object): Promise<Gateway> {
  const adapters = [{ name: 'a', kind: 'rest', url, auth: { type: 'none' } }];
  return startGateway(t, { adapters, config: { server } });
}

/** Sends a query and reads the reply to its end: the reply, and the code of the error with which the connection ended, or `end`. */
function read(
  gateway: Gateway,
  { secure, version, begun = () => {} }: { readonly secure: boolean; readonly version: string; readonly begun?: () => void },
): Promise<{ readonly text: string; readonly ended: unknown }> {
  const { port } = gateway;
  const body = JSON.stringify({ params: { path: 'x', accept: '*/*' } });
  const socket = secure ? connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
  socket.write(
    `POST /orchestrator_manager/restQuery/a HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${gateway.basicFor('admin')}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let text = '';
  return new Promise((resolve) => {
    const end = (ended: unknown): void => {
      socket.destroy();
      resolve({ text, ended });
    };
    socket.on('data', (data: Buffer) => void (text += data.toString('latin1')));
    socket.once('data', begun);
    socket.once('end', () => end('end')).once('error', (error: NodeJS.ErrnoException) => end(error.code));
  });
}

// All are started before the first test: a hook of the file may run as soon as no test is left.
const gateways = await Promise.all(
  [false, true].map(async (secure) => ({ secure, gateway: await started(owner, far.url, secure ? { tls } : {}) })),
);
for (const { secure, gateway } of gateways) {
  for (const version of ['1.0', '1.1']) {
    test(`R54: a long reply that breaks off ends with a reset over HTTP/${version}${secure ? ' and TLS' : ''}`, async () => {
      const { text, ended } = await read(gateway, { secure, version });
      assert.match(text, /^HTTP\/1\.1 200 /u);
      assert.equal(ended, 'ECONNRESET');
    });
  }

  test(`a long reply ends with a reset where a second signal stops the gateway${secure ? ', with TLS' : ''}`, async (t) => {
    const stopping = await started(t, silent.url, secure ? { tls } : {});
    const begun = Promise.withResolvers<void>();
    const reading = read(stopping, { secure, version: '1.0', begun: begun.resolve });
    await begun.promise;
    const stopped = stopping.stop();
    stopping.kill('SIGINT');
    const { text, ended } = await reading;
    assert.match(text, /^HTTP\/1\.1 200 /u);
    assert.equal(ended, 'ECONNRESET');
    assert.equal(await stopped, 1);
  });
}
