import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { GatewayError } from '#base/gateway-error.ts';
import { Secret } from '#base/secret.ts';
import { createAuthority } from '../../test/support/far-sides/certificate.ts';
import { allClosed, listen } from '../../test/support/listen.ts';
import { type Connect, createConnector } from './connector.ts';
import { createDestinationPolicy } from './destination-policy.ts';

// test/tls.test.ts has each fault of a certificate, and each setting, through the whole gateway.

const authority = createAuthority();
const good = authority.issue({ names: ['far.example', '127.0.0.1'] });

function connector(tls?: Parameters<typeof createConnector>[0]['tls'], connectLimit = 5_000): Connect {
  return createConnector({
    policy: createDestinationPolicy({ allow: ['127.0.0.1', '*.example'], deny: [], ownListeners: () => [] }),
    resolve: () => Promise.resolve(['127.0.0.1']),
    timeouts: { dns: 1_000, connect: connectLimit },
    ...(tls === undefined ? {} : { tls }),
  });
}

const trusting = { ca: authority.cert, verify: true };

async function failure(connect: Connect, origin: string): Promise<GatewayError> {
  const error = await connect(origin).then(
    () => assert.fail('connected'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}

test('SNI is the name of the URI without its trailing dot, and absent for an address', async (t) => {
  const asked: (string | false)[] = [];
  const server = createTlsServer(good, (socket) => {
    asked.push((socket as TLSSocket & { servername: string | false }).servername);
    socket.on('error', () => {});
    socket.end();
  });
  const { port } = await listen(t, server);
  for (const host of ['far.example', 'far.example.', '127.0.0.1']) {
    const socket = await connector(trusting)(`https://${host}:${port}`);
    await new Promise((resolve) => socket.on('end', resolve).resume());
    socket.destroy();
  }
  assert.deepEqual(asked, ['far.example', 'far.example', false]);
});

test('TLS sessions are resumed by host and port', async (t) => {
  const reused: boolean[] = [];
  const server = createTlsServer({ ...good, maxVersion: 'TLSv1.2' }, (socket) => {
    reused.push(socket.isSessionReused());
    socket.on('error', () => {});
    socket.end();
  });
  const { port } = await listen(t, server);
  const connect = connector(trusting);
  for (const host of ['far.example', 'far.example', '127.0.0.1']) {
    const socket = await connect(`https://${host}:${port}`);
    await new Promise((resolve) => socket.on('end', resolve).resume());
    socket.destroy();
  }
  assert.deepEqual(reused, [false, true, false]);
});

test('a refused certificate is upstream-tls-failed, and the connection is closed', async (t) => {
  const server = createTlsServer(authority.issue({ names: ['other.example'] }), (socket) => socket.on('error', () => {}));
  const { port, open } = await listen(
    t,
    server.on('tlsClientError', () => {}),
  );
  const error = await failure(connector(trusting), `https://far.example:${port}`);
  assert.equal(error.code, 'upstream-tls-failed', error.message);
  assert.match(error.message, /wrong name: it is not for far\.example/u);
  await allClosed(open);
});

test('a handshake that never ends is upstream-timeout and leaves no connection', async (t) => {
  const { port, open } = await listen(
    t,
    createServer((socket) => socket.resume()),
  );
  const error = await failure(connector(trusting, 80), `https://far.example:${port}`);
  assert.equal(error.code, 'upstream-timeout');
  assert.match(error.message, /80 ms \(phase connect, during the TLS handshake.*timeouts\.connect/u);
  await allClosed(open);
});

test('an invalid PEM text is thrown when the connector is made', () => {
  assert.throws(() => connector({ cert: 'no certificate', verify: true }));
  assert.throws(() => connector({ key: new Secret('no key'), verify: true }));
});
