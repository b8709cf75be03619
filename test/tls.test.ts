// suite: long

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import type { SecureContextOptions } from 'node:tls';
import { assertProblem, pointersOf, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { command } from './support/gateway/command.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { configurationOf, type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import type { Owner } from './support/owner.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { createAuthority, selfSigned } from './support/upstreams/certificate.ts';
import { type TlsUpstream, tlsUpstream } from './support/upstreams/tls-upstream.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// TLS towards upstreams (docs/security.md, row 62): the gateway verifies every certificate and says in words what is wrong. Its
// certificates are in files, as an operator configures them. Then TLS of the gateway's own listener.

const day = 86_400_000;
const authority = createAuthority();
const stranger = createAuthority('a stranger');
const good = authority.issue({ names: ['127.0.0.1', 'localhost'] });
const ownClient = authority.issue({ names: ['gateway.example'] });
const foreignClient = stranger.issue({ names: ['gateway.example'] });
const pinned = selfSigned({ names: ['127.0.0.1'] });

const caFile = temporaryFile({ after }, 'ca.pem', authority.cert);
const clientFiles = {
  certFile: temporaryFile({ after }, 'client.pem', ownClient.cert),
  keyFile: temporaryFile({ after }, 'client.key', ownClient.key),
};
const foreignFiles = {
  certFile: temporaryFile({ after }, 'foreign.pem', foreignClient.cert),
  keyFile: temporaryFile({ after }, 'foreign.key', foreignClient.key),
};

const kinds = ['nso', 'restconf', 'rest'] as const;
const accept = 'application/json';
const get = (uri: string): object => ({ uri, verb: 'GET', responseHeaders: false });

/** Every way in which a caller can call this upstream: restCall, and each route through an adapter of each kind. */
function calls(gateway: Gateway, url: string, adapter: string): readonly [string, () => Promise<Reply>][] {
  const params = { path: 'x', accept };
  const found: Record<string, () => Promise<Reply>> = {
    'a GET of restCall': () => restCall(gateway, get(url)),
    'a POST of restCall': () => restCall(gateway, { uri: url, verb: 'POST', responseHeaders: true, body: { a: 1 } }),
  };
  for (const kind of kinds) {
    const name = `${kind} ${adapter}`;
    found[`an action of ${kind}`] = () => relay(gateway, 'restAction', name, { params, body: { a: 1 } });
    found[`a query of ${kind}`] = () => relay(gateway, 'restQuery', name, { params });
    found[`a PATCH of ${kind}`] = () =>
      relay(gateway, 'restRequest', name, { params: { ...params, method: 'PATCH' }, body: { a: 1 } });
  }
  return Object.entries(found);
}

/** Those of the calls whose address is not the caller's. */
function throughAdapters(adapter: string): readonly [string, () => Promise<Reply>][] {
  return calls(gateway, '', adapter).filter(([what]) => !what.includes('restCall'));
}

function adaptersFor(adapter: string, url: string, more: object = { tls: { caFile } }): readonly Record<string, unknown>[] {
  return kinds.map((kind) => ({ name: `${kind} ${adapter}`, kind, url, auth: { type: 'none' }, ...more }));
}

/** Upstreams that no call may reach, each with the words of the refusal. The gateway trusts `authority` alone. */
const faults: Record<
  string,
  { readonly far: TlsUpstream | { readonly url: string; readonly requests: readonly unknown[] }; readonly says: RegExp }
> = {
  'has expired': {
    far: await tlsUpstream(
      { after },
      authority.issue({ names: ['127.0.0.1'], notBefore: new Date(Date.now() - 9 * day), notAfter: new Date(Date.now() - day) }),
    ),
    says: /expired/u,
  },
  'is not valid yet': {
    far: await tlsUpstream({ after }, authority.issue({ names: ['127.0.0.1'], notBefore: new Date(Date.now() + day) })),
    says: /not valid yet/u,
  },
  'is self-signed': { far: await tlsUpstream({ after }, pinned), says: /self-signed.*tls\.caFile/u },
  'is for another name': {
    far: await tlsUpstream({ after }, authority.issue({ names: ['other.example', '127.0.0.2'] })),
    says: /wrong name.*127\.0\.0\.1/u,
  },
  'names no host': { far: await tlsUpstream({ after }, authority.issue({})), says: /wrong name.*127\.0\.0\.1/u },
  'is from an unknown authority': {
    far: await tlsUpstream({ after }, stranger.issue({ names: ['127.0.0.1'] })),
    says: /unknown authority.*tls\.caFile/u,
  },
  'is from an unknown authority with the name of a known one': {
    far: await tlsUpstream({ after }, createAuthority().issue({ names: ['127.0.0.1'] })),
    says: /signature of its certificate is wrong|unknown authority/u,
  },
  'comes by TLS 1.1 at most': {
    far: await tlsUpstream({ after }, { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    says: /TLS 1\.2 and 1\.3/u,
  },
  'is missing, since the upstream speaks plain HTTP,': { far: await plainHttp(), says: /plain HTTP/u },
  'is missing, since the upstream closes the connection at the hello,': {
    far: await hangsUp(),
    says: /closed the connection during the handshake/u,
  },
  'comes with a request for a client certificate that is not configured (TLS 1.2)': {
    far: await tlsUpstream({ after }, { ...good, ...wantsClientCertificate(), maxVersion: 'TLSv1.2' }),
    says: /client certificate/u,
  },
};

function wantsClientCertificate(): object {
  return { ca: authority.cert, requestCert: true, rejectUnauthorized: true };
}

async function plainHttp(): Promise<{ readonly url: string; readonly requests: readonly unknown[] }> {
  const far = await upstream({ after }, () => httpReply({ body: '{}' }));
  // A server that reads a TLS hello as HTTP answers 400 and ends.
  far.onConnection((socket) => void socket.once('data', () => socket.end(httpReply({ status: 400 }))));
  return { url: `https://${far.authority}`, requests: far.requests };
}

async function hangsUp(): Promise<{ readonly url: string; readonly requests: readonly unknown[] }> {
  const server = createServer((socket) => void socket.on('error', () => undefined).once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `https://127.0.0.1:${address.port}`, requests: [] };
}

const sound = await tlsUpstream({ after }, good);
const named = await tlsUpstream({ after }, authority.issue({ names: ['nso.example'] }));
const strict12 = await tlsUpstream({ after }, { ...good, ...wantsClientCertificate(), maxVersion: 'TLSv1.2' });
const strict13 = await tlsUpstream({ after }, { ...good, ...wantsClientCertificate(), minVersion: 'TLSv1.3' });

const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: ['127.0.0.1', 'localhost'], tls: { caFile } } },
    adapters: [
      ...Object.entries(faults).flatMap(([name, { far }]) => adaptersFor(name, far.url)),
      ...adaptersFor('sound', sound.url),
      ...adaptersFor('named', named.url, { tls: { caFile, serverName: 'nso.example' } }),
      ...adaptersFor('misnamed', named.url, { tls: { caFile, serverName: 'other.example' } }),
      ...adaptersFor('unnamed', named.url),
      ...adaptersFor('careless', faults['is self-signed']?.far.url ?? '', { tls: { verify: false } }),
      ...adaptersFor('careless of names', named.url, { tls: { caFile, verify: false } }),
      ...adaptersFor('careless of age', faults['has expired']?.far.url ?? '', { tls: { caFile, verify: false } }),
      ...adaptersFor('pinned', faults['is self-signed']?.far.url ?? '', {
        tls: { caFile: temporaryFile({ after }, 'pinned.pem', pinned.cert) },
      }),
      ...adaptersFor('known 1.2', strict12.url, { tls: { caFile, ...clientFiles } }),
      ...adaptersFor('known 1.3', strict13.url, { tls: { caFile, ...clientFiles } }),
      ...adaptersFor('foreign 1.2', strict12.url, { tls: { caFile, ...foreignFiles } }),
      ...adaptersFor('foreign 1.3', strict13.url, { tls: { caFile, ...foreignFiles } }),
      ...adaptersFor('unknown 1.3', strict13.url),
    ],
  },
);

/** A gateway without TLS settings: it knows Node's own authorities alone. */
const plain = await startGateway(
  { after },
  {
    config: { outbound: { allow: ['127.0.0.1'] } },
    adapters: [
      ...adaptersFor('sound', sound.url, {}),
      { name: 'self-signed', kind: 'nso', url: faults['is self-signed']?.far.url, auth: { type: 'none' } },
    ],
  },
);
const changing = await startGateway({ after });

/** A gateway with these TLS settings of restCall, and these adapters, until the next call. */
async function withTls(tls: object, adapters: readonly Readonly<Record<string, unknown>>[] = []): Promise<Gateway> {
  await reloadWith(changing, { config: { outbound: { allow: ['127.0.0.1'], tls } }, adapters });
  return changing;
}

/** Makes all of the calls at once, waits for all, and gives each reply to `check`. */
async function each(
  made: readonly (readonly [string, () => Promise<Reply>])[],
  check: (reply: Reply, what: string) => void,
): Promise<void> {
  const replies = await Promise.all(made.map(([, call]) => call()));
  for (const [index, reply] of replies.entries()) check(reply, made[index]?.[0] ?? '');
}

/** Holds a reply to be 502 upstream-tls-failed with this cause. */
function assertTlsFailure(reply: Reply, says: RegExp, what: string): void {
  const problem = assertProblem(reply, 502, 'upstream-tls-failed');
  assert.match(problem.detail, says, what);
  assert.equal(problem.upstream, undefined);
}

describe('R62: a certificate that', () => {
  for (const [fault, { far, says }] of Object.entries(faults)) {
    test(`${fault} is 502 upstream-tls-failed for every route and kind, and the reply names the cause`, async () => {
      await each(calls(gateway, far.url, fault), (reply, what) => {
        assertTlsFailure(reply, says, what);
        assert.ok(reply.text.includes(new URL(far.url).host), `${what}: ${reply.text}`);
      });
      assert.equal(far.requests.length, 0);
    });
  }

  test('is of a private authority is refused where tls.caFile is not configured', async () => {
    const before = sound.requests.length;
    await each(calls(plain, sound.url, 'sound'), (reply, what) =>
      assertTlsFailure(reply, /unknown authority.*tls\.caFile/u, what),
    );
    assert.equal(sound.requests.length, before);
  });

  test('is faulty behind a redirect is upstream-tls-failed as well, for any verb', async (t) => {
    const far = await upstream(t, () => httpReply({ status: 307, headers: { Location: faults['has expired']?.far.url ?? '' } }));
    for (const verb of ['GET', 'POST']) {
      const reply = await restCall(gateway, { uri: far.url, verb, responseHeaders: false, body: {} });
      assertTlsFailure(reply, /expired/u, verb);
    }
    assert.equal(far.requests.length, 2);
  });

  test('is faulty meets one attempt of restCall, at most two of an action, at most three of a query', async () => {
    const far = faults['is self-signed']?.far;
    assert.ok(far !== undefined && 'connections' in far);
    const most = { restCall: 1, restAction: 2, restQuery: 3 };
    const params = { path: 'x', accept };
    const attempts = {
      restCall: () => restCall(plain, get(far.url)),
      restAction: () => relay(plain, 'restAction', 'self-signed', { params, body: {} }),
      restQuery: () => relay(plain, 'restQuery', 'self-signed', { params }),
    };
    for (const [route, call] of Object.entries(attempts)) {
      const before: number = far.connections;
      assertTlsFailure(await call(), /self-signed/u, route);
      assert.ok(far.connections - before <= most[route as keyof typeof most], `${route}: ${far.connections - before}`);
    }
  });
});

/** Fails unless the upstream answered each of the calls. */
function assertReached(made: ReturnType<typeof calls>): Promise<void> {
  return each(made, (reply, what) => {
    assert.equal(reply.status, 200, `${what}: ${reply.text}`);
    assert.equal(reply.header('x-upstream-status'), '200', what);
  });
}

describe('tls.caFile', () => {
  test('verifies a chain for every route and kind, by TLS 1.3', async () => {
    await assertReached(calls(gateway, sound.url, 'sound'));
    assert.deepEqual([...new Set(sound.requests.map(({ protocol }) => protocol))], ['TLSv1.3']);
  });

  test('verifies names and addresses; SNI has the name, and never an address (RFC 6066 3)', async () => {
    const before = sound.requests.length;
    responseOf(await restCall(gateway, get(`https://localhost:${sound.port}/n`)));
    responseOf(await restCall(gateway, get(`https://LOCALHOST:${sound.port}/n`)));
    responseOf(await restCall(gateway, get(`${sound.url}/a`)));
    assert.deepEqual(
      sound.requests.slice(before).map(({ serverName }) => serverName),
      ['localhost', 'localhost', undefined],
    );
  });

  test('may hold several authorities', async (t) => {
    const others = await tlsUpstream(t, stranger.issue({ names: ['127.0.0.1'] }));
    const both = temporaryFile(t, 'both.pem', `# two of them\n${authority.cert}\n${stranger.cert}`);
    const own = await withTls({ caFile: both }, [
      ...adaptersFor('sound', sound.url, { tls: { caFile: both } }),
      ...adaptersFor('others', others.url, { tls: { caFile: both } }),
    ]);
    await assertReached(calls(own, sound.url, 'sound'));
    await assertReached(calls(own, others.url, 'others'));
  });

  test('may be the self-signed certificate itself, as its refusal advises', () => assertReached(throughAdapters('pinned')));

  test('verifies a chain with an intermediate certificate that the upstream sends; without it the refusal says so', async (t) => {
    const intermediate = authority.subordinate('an intermediate');
    const leaf = intermediate.issue({ names: ['127.0.0.1'] });
    const whole = await tlsUpstream(t, { cert: `${leaf.cert}${intermediate.cert}`, key: leaf.key });
    responseOf(await restCall(gateway, get(whole.url)));
    const alone = await tlsUpstream(t, leaf);
    assertTlsFailure(await restCall(gateway, get(alone.url)), /unknown authority.*intermediate certificates/u, alone.url);
    assert.equal(alone.requests.length, 0);
  });

  test('refuses an unknown certificate although the upstream sends a known one after it', async (t) => {
    const far = await tlsUpstream(t, { cert: `${foreignClient.cert}${good.cert}`, key: foreignClient.key });
    assertTlsFailure(await restCall(gateway, get(far.url)), /unknown authority|may not sign/u, far.url);
  });
});

describe('a client certificate', () => {
  test('is sent to an upstream that requests one, by TLS 1.2 and 1.3', async () => {
    await assertReached(throughAdapters('known 1.2'));
    await assertReached(throughAdapters('known 1.3'));
    const own = await withTls({ caFile, ...clientFiles });
    for (const far of [strict12, strict13, sound]) responseOf(await restCall(own, get(far.url)));
  });

  test('of another authority is 502 upstream-tls-failed (TLS 1.2)', async () => {
    // Node as an upstream closes the connection without an alert.
    const says = /client certificate|closed the connection during the handshake/u;
    await each(throughAdapters('foreign 1.2'), (reply, what) => assertTlsFailure(reply, says, what));
  });

  test('that is missing is 502 in TLS 1.3 as well, where the alert comes after the handshake', async () => {
    const before = strict13.requests.length;
    await each(calls(gateway, strict13.url, 'unknown 1.3'), (reply, what) =>
      assertTlsFailure(reply, /client certificate/u, what),
    );
    assert.equal(strict13.requests.length, before);
  });

  test('that a TLS 1.3 upstream refuses without an alert is 502 for any route, and no action is sent twice', async () => {
    const before = { requests: strict13.requests.length, connections: strict13.connections };
    await each(throughAdapters('foreign 1.3'), (reply, what) => {
      assertProblem(reply, 502, what.startsWith('a query') ? 'upstream-closed' : 'outcome-unknown');
    });
    assert.equal(strict13.requests.length, before.requests);
    // Three kinds: an action and a PATCH once each, a query at most three times.
    assert.ok(strict13.connections - before.connections <= 15);
  });

  for (const version of ['1_2', '1_3']) {
    const name = `that an upstream refuses by an alert is 502 that says so (openssl, TLS ${version})`;
    test(name, async (t) => {
      const port = await opensslServer(t, version);
      if (port === undefined) return t.skip('this machine has no openssl');
      const tls = { caFile, ...foreignFiles };
      const own = await withTls(tls, adaptersFor('foreign', `https://127.0.0.1:${port}`, { tls }));
      const says = /does not take the gateway's client certificate/u;
      await each(calls(own, `https://127.0.0.1:${port}`, 'foreign'), (reply, what) => assertTlsFailure(reply, says, what));
    });
  }
});

/** Starts `openssl s_server`, which requests a certificate of `authority`; its port, or undefined where there is no openssl. */
async function opensslServer(t: TestContext, version: string): Promise<number | undefined> {
  const files = [
    '-cert',
    temporaryFile(t, 'cert.pem', good.cert),
    '-key',
    temporaryFile(t, 'key.pem', good.key),
    '-CAfile',
    caFile,
  ];
  const child = spawn('openssl', [
    's_server',
    '-accept',
    '127.0.0.1:0',
    ...files,
    '-Verify',
    '2',
    '-verify_return_error',
    `-tls${version}`,
  ]);
  t.after(() => void child.kill('SIGKILL'));
  let said = '';
  return await new Promise((resolve) => {
    child.on('error', () => resolve(undefined));
    child.on('exit', () => resolve(undefined));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const port = /ACCEPT 127\.0\.0\.1:(\d+)/u.exec(said)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
}

describe('tls.serverName of an adapter', () => {
  test('is sent by SNI, and the certificate must be for that name', async () => {
    await assertReached(throughAdapters('named'));
    assert.deepEqual([...new Set(named.requests.map(({ serverName }) => serverName))], ['nso.example']);
    // RFC 9110 7.2: Host has the authority of the target; tls.serverName does not change it.
    assert.deepEqual([...new Set(named.requests.map(({ host }) => host))], [named.authority]);
  });

  test('is the name in a refusal', async () => {
    const before = named.requests.length;
    for (const [adapter, says] of [
      ['misnamed', /wrong name.*other\.example/u],
      ['unnamed', /wrong name.*127\.0\.0\.1/u],
    ] as const) {
      await each(throughAdapters(adapter), (reply, what) => assertTlsFailure(reply, says, what));
    }
    assert.equal(named.requests.length, before);
  });
});

describe('tls.verify: false of an adapter', () => {
  test('accepts any certificate', async () => {
    for (const adapter of ['careless', 'careless of names', 'careless of age']) await assertReached(throughAdapters(adapter));
  });

  test('is one warning at the start for each such adapter, with file, line and key', () => {
    const warnings = gateway.stderr
      .map((line) => JSON.parse(line) as { readonly level: unknown; readonly file?: string; readonly reason?: string })
      .filter(({ reason }) => reason?.includes('certificates are not verified'));
    assert.equal(warnings.length, 9);
    for (const { file, reason } of warnings) {
      assert.match(file ?? '', /gateway\.yaml:\d+$/u);
      assert.match(reason ?? '', /^adapters\[\d+\]\.tls\.verify: |^\/adapters\/\d+\/tls\/verify: |adapters.*tls\.verify/u);
    }
    assert.equal(plain.stderr.filter((line) => line.includes('not verified')).length, 0);
  });

  test('is refused for restCall, in the configuration and in a call', async (t) => {
    const config = configurationOf({ config: { outbound: { tls: { verify: false } } } });
    const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(config, undefined, 2));
    const { code, stdout, stderr } = await command(['serve', '--config', file]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /gateway\.yaml:\d+:\d+.*verify/u);
    for (const name of ['verify', 'insecure', 'rejectUnauthorized', 'tls', 'ca', 'servername']) {
      const problem = assertProblem(await restCall(gateway, { ...get(sound.url), [name]: false }), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), [`/${name}`]);
    }
  });
});

describe('R13: a Host header', () => {
  test('of a restCall is 400 and never reaches the upstream, so that the verified name stays', async () => {
    const before = named.connections;
    for (const name of ['Host', 'host', 'hOsT']) {
      const call = { ...get(named.url), headers: { [name]: 'nso.example' } };
      const problem = assertProblem(await restCall(gateway, call), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), [`/headers/${name}`]);
    }
    assert.equal(named.connections, before);
  });

  test('of the caller to the gateway does not change the verified name', async () => {
    const headers = { Host: 'nso.example' };
    assertTlsFailure(await restCall(gateway, get(named.url), { headers }), /not for 127\.0\.0\.1/u, 'restCall');
    const reply = await relay(gateway, 'restAction', 'rest unnamed', { params: { path: 'x', accept }, body: {} }, { headers });
    assertTlsFailure(reply, /not for 127\.0\.0\.1/u, 'restAction');
  });
});

describe("the gateway's own listener with server.tls", async () => {
  const identity = {
    certFile: temporaryFile({ after }, 'server.pem', good.cert),
    keyFile: temporaryFile({ after }, 'server.key', good.key),
  };
  const start = (owner: Owner): Promise<Gateway> =>
    startGateway(owner, {
      config: { server: { tls: identity }, outbound: { allow: ['127.0.0.0/8', 'localhost'], tls: { caFile } } },
    });
  const shared = await start({ after });

  test('ends the calls in flight with their replies when the gateway stops', async (t) => {
    const own = await start(t);
    let arrived = (): void => {};
    const calling = new Promise<void>((resolve) => (arrived = resolve));
    const far = await upstream(t, async () => {
      arrived();
      await lapse(1_500, 'the stop begins meanwhile');
      return jsonReply('{"a":1}');
    });
    const answered = overTls(own.port, {
      method: 'POST',
      path: '/tools/restCall',
      headers: { Authorization: own.basicFor('admin') },
      body: JSON.stringify({ uri: `${far.url}/`, verb: 'GET', responseHeaders: false }),
    });
    await calling;
    const stopped = own.stop();
    assert.equal((await answered).status, 200);
    assert.equal(await stopped, 0);
  });

  test('R45: closes a connection without a handshake after 10 seconds', { timeout: 60_000 }, async (t) => {
    const open = async (first: Buffer): Promise<Socket> => {
      const socket = connect(shared.port, '127.0.0.1');
      t.after(() => void socket.destroy());
      socket.on('error', () => undefined).resume();
      await once(socket, 'connect');
      socket.write(first);
      return socket;
    };
    const beginningOfHello = Buffer.from('1603010200010001fc0303', 'hex');
    const sockets = [await open(Buffer.alloc(0)), await open(beginningOfHello)];
    const signal = AbortSignal.timeout(20_000);
    await Promise.all(sockets.map((socket) => once(socket, 'close', { signal })));
    assert.equal((await overTls(shared.port, { method: 'GET', path: '/healthz' })).status, 200);
    const plain = await open(Buffer.from('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'));
    await once(plain, 'close', { signal: AbortSignal.timeout(5_000) });
  });

  test('serves HTTPS, says so in its ready line, and its login cookie is Secure', async () => {
    const { port } = shared;
    assert.deepEqual(shared.stdout, [`listening on https://127.0.0.1:${port}`]);
    assert.equal((await overTls(port, { method: 'GET', path: '/healthz' })).status, 200);
    const login = await overTls(port, {
      method: 'POST',
      path: '/login',
      body: JSON.stringify({ username: 'admin-user', password: testPassword }),
    });
    assert.equal(login.status, 200, login.text);
    const [cookie = '', ...others] = login.headers['set-cookie'] ?? [];
    assert.deepEqual(others, []);
    for (const attribute of [/; *Secure(;|$)/u, /; *HttpOnly(;|$)/u, /; *SameSite=Strict(;|$)/u]) assert.match(cookie, attribute);
    const whoami = await overTls(port, { method: 'GET', path: '/whoami', headers: { Cookie: cookie.split(';')[0] ?? '' } });
    assert.equal(whoami.status, 200, whoami.text);
    const { token } = JSON.parse(login.text) as { readonly token: string };
    const bearer = await overTls(port, { method: 'GET', path: '/whoami', headers: { Authorization: `Bearer ${token}` } });
    assert.equal(bearer.text, whoami.text);
  });

  test('refuses plain HTTP and TLS 1.1', async () => {
    const plain = await shared.send({ target: '/healthz' }).catch(() => undefined);
    assert.notEqual(plain?.status, 200);
    await assert.rejects(
      overTls(
        shared.port,
        { method: 'GET', path: '/healthz' },
        { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
      ),
    );
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const reply = await overTls(shared.port, { method: 'GET', path: '/healthz' }, { minVersion: version, maxVersion: version });
      assert.equal(reply.status, 200, version);
    }
  });

  test('R12: is denied to restCall, by its address and by its name', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const reply = await overTls(shared.port, {
        method: 'POST',
        path: '/tools/restCall',
        headers: { Authorization: shared.basicFor('admin') },
        body: JSON.stringify(get(`https://${host}:${shared.port}/healthz`)),
      });
      assert.equal(reply.status, 403, reply.text);
      assert.match(reply.text, /destination-denied/u);
    }
  });

  test('is the condition for a Secure login cookie: over plain HTTP a client would never send one', async () => {
    const login = await gateway.send({
      method: 'POST',
      target: '/login',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: 'admin-user', password: testPassword }),
    });
    assert.equal(login.status, 200);
    assert.doesNotMatch(login.header('set-cookie') ?? '', /secure/iu);
  });

  test('ends the start where the key is not that of the certificate; the error names file and line, and shows no key', async (t) => {
    const config = configurationOf({
      config: { server: { tls: { certFile: identity.certFile, keyFile: clientFiles.keyFile } } },
    });
    const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(config, undefined, 2));
    const { code, stderr } = await command(['serve', '--config', file]);
    assert.equal(code, 1);
    assert.match(stderr, /gateway\.yaml:\d+:\d+.*keyFile/u);
    assert.doesNotMatch(stderr, /PRIVATE KEY/u);
  });
});

interface TlsReply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request to the gateway's own HTTPS listener, its certificate verified. */
function overTls(
  port: number,
  request: { readonly method: string; readonly path: string; readonly headers?: Record<string, string>; readonly body?: string },
  options: SecureContextOptions = {},
): Promise<TlsReply> {
  const { method, path, body, headers = {} } = request;
  const json = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      { host: '127.0.0.1', port, method, path, agent: false, ca: authority.cert, headers: { ...json, ...headers }, ...options },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
      },
    );
    sent.on('error', reject).end(body);
  });
}

test('an upstream with a sound certificate answers after all of these failures', async () => {
  assert.equal(responseOf(await restCall(gateway, get(sound.url))), '{"tls":true}');
  const reply = await relay(gateway, 'restAction', 'nso sound', { params: { path: 'x', accept }, body: {} });
  assert.equal(resultOf(reply), '{"tls":true}');
});
