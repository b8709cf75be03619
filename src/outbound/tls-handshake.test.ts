import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { GatewayError } from '#base/gateway-error.ts';
import { Secret } from '#base/secret.ts';
import { sendThrough } from '../../test/support/callers/send-through.ts';
import { createAuthority, type Identity, selfSigned } from '../../test/support/far-sides/certificate.ts';
import { allClosed, listen } from '../../test/support/listen.ts';
import { type Connect, createConnector } from './connector.ts';
import { createDestinationPolicy } from './destination-policy.ts';
import { createSender } from './sender.ts';

const authority = createAuthority();
const good = authority.issue({ names: ['far.example', '127.0.0.1'] });
const day = 86_400_000;

function connector(tls?: Parameters<typeof createConnector>[0]['tls'], connectLimit = 5_000): Connect {
  return createConnector({
    policy: createDestinationPolicy({ allow: ['127.0.0.1', '*.example'], deny: [], ownListeners: () => [] }),
    resolve: () => Promise.resolve(['127.0.0.1']),
    timeouts: { dns: 1_000, connect: connectLimit },
    ...(tls === undefined ? {} : { tls }),
  });
}

const trusting = { ca: authority.cert, verify: true };

async function tlsServer(t: TestContext, options: TlsOptions): ReturnType<typeof listen> {
  const server = createTlsServer(options, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  return await listen(t, server);
}

async function failure(connect: Connect, origin: string): Promise<GatewayError> {
  const error = await connect(origin).then(
    () => assert.fail('connected'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}

async function assertTlsFailure(connect: Connect, origin: string, text: RegExp): Promise<void> {
  const error = await failure(connect, origin);
  assert.equal(error.code, 'upstream-tls-failed', error.message);
  assert.match(error.message, text);
}

test('a certificate is checked against the host of the URI, by name and by address', async (t) => {
  const { port } = await tlsServer(t, good);
  for (const host of ['far.example', 'FAR.example.', '127.0.0.1']) {
    const socket = (await connector(trusting)(`https://${host}:${port}`)) as TLSSocket;
    assert.equal(socket.authorized, true);
    assert.ok(['TLSv1.2', 'TLSv1.3'].includes(socket.getProtocol() ?? ''));
    socket.destroy();
  }
});

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

test('a Host header of the call does not change the name that TLS checks', async (t) => {
  const server = createHttpsServer(good, (incoming, outgoing) => outgoing.end(incoming.headers.host));
  const { port } = await listen(t, server);
  const sender = createSender({ connect: connector(trusting) });
  t.after(() => sender.close());
  const { body } = await sendThrough(sender, `https://far.example:${port}/`);
  assert.equal(body.toString(), `far.example:${port}`);
  // Some clients check the certificate against the Host header.
  await assert.rejects(
    sendThrough(sender, `https://other.example:${port}/`, { headers: ['host', 'far.example'] }),
    (error) => error instanceof GatewayError && error.code === 'upstream-tls-failed' && /wrong name/u.test(error.message),
  );
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

const causes: readonly {
  readonly what: string;
  readonly identity: Identity;
  readonly host?: string;
  readonly text: RegExp;
  readonly ca?: string;
}[] = [
  {
    what: 'an expired certificate',
    identity: authority.issue({
      names: ['far.example'],
      notBefore: new Date(Date.now() - 9 * day),
      notAfter: new Date(Date.now() - day),
    }),
    text: /has expired \(CERT_HAS_EXPIRED\)/u,
  },
  {
    what: 'a certificate of tomorrow',
    identity: authority.issue({ names: ['far.example'], notBefore: new Date(Date.now() + day) }),
    text: /not valid yet/u,
  },
  { what: 'a self-signed certificate', identity: selfSigned({ names: ['far.example'] }), text: /self-signed.*tls\.caFile/u },
  {
    what: 'a certificate for another name',
    identity: good,
    host: 'other.example',
    text: /wrong name: it is not for other\.example/u,
  },
  {
    what: 'a certificate for a name, at an address',
    identity: authority.issue({ names: ['far.example'] }),
    host: '127.0.0.1',
    text: /not for 127\.0\.0\.1/u,
  },
  { what: 'a certificate without names', identity: authority.issue({}), text: /wrong name/u },
  {
    what: 'a certificate of another authority',
    identity: createAuthority('other').issue({ names: ['far.example'] }),
    text: /unknown authority/u,
  },
  {
    what: 'a certificate of an authority with the same name',
    identity: createAuthority().issue({ names: ['far.example'] }),
    text: /signature of its certificate is wrong|unknown authority/u,
  },
];

for (const { what, identity, host = 'far.example', text } of causes) {
  test(`${what} is upstream-tls-failed in words, and the connection is closed`, async (t) => {
    const { port, open } = await tlsServer(t, identity);
    await assertTlsFailure(connector(trusting), `https://${host}:${port}`, text);
    await allClosed(open);
  });
}

test('a private certificate without a configured CA is from an unknown authority', async (t) => {
  const { port } = await tlsServer(t, good);
  await assertTlsFailure(connector(), `https://far.example:${port}`, /unknown authority/u);
});

test('verify: false accepts any certificate', async (t) => {
  for (const identity of [selfSigned({}), authority.issue({ names: ['x.example'], notAfter: new Date(Date.now() - 1_000) })]) {
    const { port } = await tlsServer(t, identity);
    const socket = await connector({ verify: false })(`https://far.example:${port}`);
    socket.destroy();
  }
});

test('tls.serverName replaces the host of the URI', async (t) => {
  const { port } = await tlsServer(t, good);
  const socket = await connector({ ...trusting, serverName: 'far.example' })(`https://other.example:${port}`);
  socket.destroy();
  await assertTlsFailure(
    connector({ ...trusting, serverName: 'other.example' }),
    `https://far.example:${port}`,
    /not for other\.example/u,
  );
});

test('the error for plain HTTP on the port says that it is no TLS', async (t) => {
  const { port } = await listen(t, createHttpServer());
  await assertTlsFailure(connector(trusting), `https://far.example:${port}`, /plain HTTP/u);
});

test('the error for a far side with TLS 1.1 at most names the protocol version', async (t) => {
  const { port } = await tlsServer(t, { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' });
  await assertTlsFailure(connector(trusting), `https://far.example:${port}`, /TLS 1\.2 and 1\.3 only/u);
});

test('a far side that hangs up during the handshake is upstream-tls-failed', async (t) => {
  const { port } = await listen(
    t,
    createServer((socket) => socket.once('data', () => socket.destroy())),
  );
  await assertTlsFailure(connector(trusting), `https://far.example:${port}`, /closed the connection during the handshake/u);
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

test('a far side that requires a client certificate gets it', async (t) => {
  const { port } = await tlsServer(t, {
    ...good,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
    maxVersion: 'TLSv1.2',
  });
  const own = authority.issue({ names: ['gateway.example'] });
  const socket = await connector({ ...trusting, cert: own.cert, key: new Secret(own.key) })(`https://far.example:${port}`);
  socket.destroy();
  await assertTlsFailure(connector(trusting), `https://far.example:${port}`, /client certificate|closed the connection/u);
});

test('an invalid PEM text is thrown when the connector is made', () => {
  assert.throws(() => connector({ cert: 'no certificate', verify: true }));
  assert.throws(() => connector({ key: new Secret('no key'), verify: true }));
});
