import assert from 'node:assert/strict';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { Secret } from '#base/secret.ts';
import { sendThrough } from '../../../test/support/callers/send-through.ts';
import { allClosed, listen } from '../../../test/support/listen.ts';
import { createAuthority } from '../../../test/support/upstreams/certificate.ts';
import { createSender } from '../call/sender.ts';
import { createDestinationPolicy } from '../policy/destination-policy.ts';
import { type Connect, createConnector } from './connector.ts';
import type { ProxyOptions } from './proxy-connect.ts';

// Here is one test of each setting. test/proxies.test.ts has each fault and each setting through the whole gateway.

const authority = createAuthority();
const identity = authority.issue({ names: ['far.example', 'proxy.example', '127.0.0.1'] });

interface ProxyLog {
  readonly port: number;
  readonly open: ReadonlySet<Socket>;
  readonly asked: string[];
  readonly credentials: (string | undefined)[];
}

/** A real CONNECT proxy; `status` decides by authority, and every tunnel ends at `farPort` of 127.0.0.1. */
async function startProxy(
  t: TestContext,
  farPort: number,
  options: { secure?: boolean; status?: (authority: string) => number } = {},
): Promise<ProxyLog> {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const server = options.secure === true ? createHttpsServer(identity) : createHttpServer();
  server.on('connect', (incoming, socket: Socket) => {
    asked.push(incoming.url ?? '');
    credentials.push(incoming.headers['proxy-authorization']);
    assert.equal(incoming.headers.host, incoming.url);
    const status = options.status?.(incoming.url ?? '') ?? 200;
    socket.on('error', () => {});
    if (status !== 200) {
      // Stays open until the gateway hangs up: an HTTP server's sockets may be half open.
      socket.on('end', () => socket.end()).resume();
      socket.write(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\n\r\nno`);
      return;
    }
    const far = connectTcp(farPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nProxy-Agent: test\r\n\r\n');
      socket.pipe(far).pipe(socket);
    });
    far.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
  });
  const { port, open } = await listen(t, server);
  return { port, open, asked, credentials };
}

interface Setup {
  readonly proxy: ProxyOptions;
  readonly addresses?: readonly string[];
  readonly policy?: boolean;
  readonly connectLimit?: number;
}

function connector({ proxy, addresses = ['198.41.0.4'], policy = true, connectLimit = 5_000 }: Setup): Connect {
  return createConnector({
    ...(policy ? { policy: createDestinationPolicy({ allow: [], deny: [], ownListeners: () => [] }) } : {}),
    resolve: (host) => Promise.resolve(host === 'proxy.example' ? ['127.0.0.1'] : addresses),
    timeouts: { dns: 1_000, connect: connectLimit },
    tls: { ca: authority.cert, verify: true },
    proxy,
  });
}

const echo: RequestListener = (incoming, outgoing) => outgoing.end(`${incoming.method} ${incoming.headers.host} ${incoming.url}`);

function failsWith(code: string, text: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, text);
    return true;
  };
}

for (const proxyScheme of ['http', 'https'] as const) {
  test(`a call goes through an ${proxyScheme} proxy, which gets its credentials, to the address that the policy admits`, async (t) => {
    const far = await listen(t, createHttpsServer(identity, echo));
    const proxy = await startProxy(t, far.port, { secure: proxyScheme === 'https' });
    const url = `${proxyScheme}://proxy.example:${proxy.port}`;
    const options: ProxyOptions = { url, username: 'gateway', password: new Secret('pässword'), resolves: false };
    const sender = createSender({ connect: connector({ proxy: options }) });
    t.after(() => sender.close());
    const { body } = await sendThrough(sender, 'https://far.example:8443/one');
    assert.equal(body.toString(), 'GET far.example:8443 /one');
    (await connector({ proxy: options, addresses: ['2001:4860:4860::8888'] })('http://far.example')).destroy();
    (await connector({ proxy: options, addresses: ['10.0.0.1'], policy: false })('http://far.example')).destroy();
    const asked = ['198.41.0.4:8443', '[2001:4860:4860::8888]:80', '10.0.0.1:80'];
    assert.deepEqual(proxy.asked, asked);
    const basic = `Basic ${Buffer.from('gateway:pässword').toString('base64')}`;
    assert.deepEqual(proxy.credentials, [basic, basic, basic]);
    const denied = connector({ proxy: options, addresses: ['198.41.0.4', '10.0.0.1'] });
    await assert.rejects(denied('http://far.example'), failsWith('destination-denied', /10\.0\.0\.1/u));
    await assert.rejects(denied('http://127.0.0.1'), failsWith('destination-denied', /loopback/u));
    assert.deepEqual(proxy.asked, asked);
  });
}

test('a proxy that resolves gets the name, and the policy decides on names of this machine and literals alone', async (t) => {
  const far = await listen(t, createHttpServer(echo));
  const proxy = await startProxy(t, far.port);
  const connect = connector({ proxy: { url: `http://127.0.0.1:${proxy.port}`, resolves: true }, addresses: ['10.0.0.1'] });
  for (const origin of ['http://far.example:8080', 'http://8.8.8.8']) (await connect(origin)).destroy();
  assert.deepEqual(proxy.asked, ['far.example:8080', '8.8.8.8:80']);
  await assert.rejects(connect('http://localhost'), failsWith('destination-denied', /name of this machine/u));
  await assert.rejects(connect('http://10.0.0.1'), failsWith('destination-denied', /private/u));
  assert.equal(proxy.asked.length, 2);
});

test('a refused tunnel is upstream-connect-failed with the status, after each address was tried', async (t) => {
  const proxy = await startProxy(t, 9, { status: () => 503 });
  const connect = connector({
    addresses: ['198.41.0.4', '198.41.0.5'],
    proxy: { url: `http://127.0.0.1:${proxy.port}`, resolves: false },
  });
  await assert.rejects(
    connect('https://far.example'),
    failsWith(
      'upstream-connect-failed',
      /refused a tunnel to 198\.41\.0\.4:443 with status 503; .*198\.41\.0\.5:443 with status 503\.$/u,
    ),
  );
  assert.deepEqual(proxy.asked, ['198.41.0.4:443', '198.41.0.5:443']);
  await allClosed(proxy.open);
});

test('the next address is tried when the proxy cannot reach the first', async (t) => {
  const far = await listen(t, createHttpServer(echo));
  const proxy = await startProxy(t, far.port, { status: (asked) => (asked.startsWith('198.41.0.4') ? 502 : 200) });
  const connect = connector({
    addresses: ['198.41.0.4', '198.41.0.5'],
    proxy: { url: `http://127.0.0.1:${proxy.port}`, resolves: false },
  });
  (await connect('http://far.example')).destroy();
  assert.deepEqual(proxy.asked, ['198.41.0.4:80', '198.41.0.5:80']);
});

test('wrong credentials for the proxy end the attempts at once', async (t) => {
  const proxy = await startProxy(t, 9, { status: () => 407 });
  const options: ProxyOptions = {
    url: `http://127.0.0.1:${proxy.port}`,
    username: 'x',
    password: new Secret('hunter2'),
    resolves: false,
  };
  await assert.rejects(connector({ addresses: ['198.41.0.4', '198.41.0.5'], proxy: options })('http://far.example'), (error) => {
    assert.doesNotMatch(String(error), /hunter2/u);
    return failsWith('upstream-connect-failed', /status 407: it wants other credentials/u)(error);
  });
  assert.equal(proxy.asked.length, 1);
});

test('an https proxy must have a certificate for its own name', async (t) => {
  const proxy = await startProxy(t, 9, { secure: true });
  const connect = createConnector({
    resolve: () => Promise.resolve(['127.0.0.1']),
    timeouts: { dns: 1_000, connect: 5_000 },
    tls: { ca: authority.cert, verify: false },
    proxy: { url: `https://other.example:${proxy.port}`, resolves: false },
  });
  await assert.rejects(
    connect('http://far.example'),
    failsWith('upstream-tls-failed', /TLS with the proxy other\.example.*wrong name/u),
  );
  await allClosed(proxy.open);
});

const badAnswers: readonly { readonly what: string; readonly answer: string | Buffer; readonly text: RegExp }[] = [
  { what: 'no HTTP', answer: 'SSH-2.0-OpenSSH\r\n\r\n', text: /no HTTP\/1\.1/u },
  { what: 'a status that is no number', answer: 'HTTP/1.1 2xx OK\r\n\r\n', text: /no HTTP\/1\.1/u },
  { what: 'an endless head', answer: Buffer.alloc(20_000, 'x'), text: /head that is too long/u },
  {
    what: 'something after the head',
    answer: 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nforged',
    text: /before the tunnel was used/u,
  },
];

for (const { what, answer, text } of badAnswers) {
  test(`a proxy that answers ${what} is upstream-connect-failed and the connection is closed`, async (t) => {
    const { port, open } = await listen(
      t,
      createServer((socket) => socket.once('data', () => socket.write(answer))),
    );
    await assert.rejects(
      connector({ proxy: { url: `http://127.0.0.1:${port}`, resolves: false } })('http://far.example'),
      failsWith('upstream-connect-failed', text),
    );
    await allClosed(open);
  });
}

test('a proxy may send interim replies, and its head in small pieces', async (t) => {
  const { port, open } = await listen(
    t,
    createServer((socket) => {
      socket.once('data', () => {
        const pieces = ['HTTP/1.1 10', '3 Early Hints\r\nLink: x\r\n\r', '\nHTTP/1.0 200\r\n', 'Via: x\r\n\r\n'];
        const writeNext = (): void => {
          const piece = pieces.shift();
          if (piece !== undefined) socket.write(piece, () => setTimeout(writeNext, 5));
        };
        writeNext();
      });
    }),
  );
  const socket = await connector({ proxy: { url: `http://127.0.0.1:${port}`, resolves: false } })('http://far.example');
  assert.equal(open.size, 1);
  socket.destroy();
});

test('a proxy that never answers is upstream-timeout with the limit', async (t) => {
  const { port, open } = await listen(
    t,
    createServer((socket) => socket.resume()),
  );
  const connect = connector({ connectLimit: 80, proxy: { url: `http://127.0.0.1:${port}`, resolves: false } });
  await assert.rejects(
    connect('http://far.example'),
    failsWith('upstream-timeout', /80 ms \(phase connect.*198\.41\.0\.4:80 by way of the proxy/u),
  );
  await allClosed(open);
});

test('an invalid proxy URL is thrown when the connector is made', () => {
  for (const url of ['proxy.example:3128', 'socks5://proxy.example', 'http://u:p@proxy.example', '']) {
    assert.throws(() => connector({ proxy: { url, resolves: false } }), /proxy\.url/u, url);
  }
});
