import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { GatewayError } from '#base/gateway-error.ts';
import { Secret } from '#base/secret.ts';
import { allClosed, listen } from '../../../test/support/listen.ts';
import { createAuthority, selfSigned } from '../../../test/support/upstreams/certificate.ts';
import { createDestinationPolicy } from '../policy/destination-policy.ts';
import { type Connect, createConnector } from './connector.ts';

// Here is one test of each setting. test/tls.test.ts has each fault and each setting through the whole gateway.

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

async function serve(t: TestContext, options: TlsOptions): ReturnType<typeof listen> {
  const server = createTlsServer(options, (socket) => socket.on('error', () => {}));
  return listen(
    t,
    server.on('tlsClientError', () => {}),
  );
}

const names = ['far.example'];
const past = { notBefore: new Date(Date.now() - 2e9), notAfter: new Date(Date.now() - 1e9) };
const clientAsked = { ...good, ca: authority.cert, requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' } as const;

test('R62: only a valid certificate of a known authority for the host is accepted, by TLS 1.2 or later', async (t) => {
  const { port } = await serve(t, good);
  for (const host of ['far.example', '127.0.0.1']) {
    const socket = (await connector(trusting)(`https://${host}:${port}`)) as TLSSocket;
    assert.equal(socket.authorized, true);
    socket.destroy();
  }
  assert.match((await failure(connector(), `https://far.example:${port}`)).message, /unknown authority/u);
  for (const [options, cause] of [
    [authority.issue({ names, ...past }), /has expired/u],
    [authority.issue({ names, notBefore: new Date(Date.now() + 1e9) }), /not valid yet/u],
    [selfSigned({ names }), /self-signed/u],
    [createAuthority('other').issue({ names }), /unknown authority/u],
    [{ ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }, /TLS 1\.2 and 1\.3 only/u],
    [clientAsked, /client certificate|closed the connection/u],
  ] satisfies readonly (readonly [TlsOptions, RegExp])[]) {
    const error = await failure(connector(trusting), `https://far.example:${(await serve(t, options)).port}`);
    assert.equal(error.code, 'upstream-tls-failed', error.message);
    assert.match(error.message, cause);
  }
});

test('the settings of TLS accept any certificate, another name, and send a certificate of the gateway', async (t) => {
  const own = authority.issue({ names: ['gateway.example'] });
  for (const [options, tls] of [
    [selfSigned({}), { verify: false }],
    [authority.issue({ names: ['inner.example'] }), { ...trusting, serverName: 'inner.example' }],
    [clientAsked, { ...trusting, cert: own.cert, key: new Secret(own.key) }],
  ] as const)
    (await connector(tls)(`https://far.example:${(await serve(t, options)).port}`)).destroy();
  const { port } = await serve(t, good);
  const error = await failure(connector({ ...trusting, serverName: 'inner.example' }), `https://far.example:${port}`);
  assert.match(error.message, /not for inner\.example/u);
});

test('a refused certificate is upstream-tls-failed, and the connection is closed', async (t) => {
  const { port, open } = await serve(t, authority.issue({ names: ['other.example'] }));
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
