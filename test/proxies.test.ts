// suite: long

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { after, describe, test } from 'node:test';
import { readDestination } from '../src/outbound/policy/destination.ts';
import { assertProblem, relay, responseOf, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { command, spawnCommand } from './support/gateway/command.ts';
import { collect, readyPort } from './support/gateway/gateway-process.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { configurationOf, type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { createAuthority, selfSigned } from './support/upstreams/certificate.ts';
import { type ConnectProxy, connectProxy } from './support/upstreams/connect-proxy.ts';
import { tlsUpstream } from './support/upstreams/tls-upstream.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Calls of restCall and of adapters through a proxy. The proxy is an HTTP server on loopback. Its tunnels to public
// addresses end at an upstream of the test.

const authority = createAuthority();
const identity = authority.issue({ names: ['127.0.0.1', 'far.example', '198.41.0.4'] });
const caFile = temporaryFile({ after }, 'ca.pem', authority.cert);
const credentials = { username: 'gateway', password: 'pröxy-CANARY-password: with a colon' };

const harmless = { NODE_TLS_REJECT_UNAUTHORIZED: '1', NODE_USE_ENV_PROXY: '0' };
const changing = await startGateway({ after }, { environment: { ...harmless, TEST_PROXY_PASSWORD: credentials.password } });

/** A gateway with these settings under `outbound`, and these adapters, until the next call. */
async function configured(outbound: object, adapters: readonly Readonly<Record<string, unknown>>[] = []): Promise<Gateway> {
  await reloadWith(changing, { config: { outbound }, adapters });
  return changing;
}

const far = await upstream({ after }, () => jsonReply('{"far":true}'));
const secureFar = await tlsUpstream({ after }, identity);

const kinds = ['nso', 'restconf', 'rest'] as const;
const accept = 'application/json';
const get = (uri: string): object => ({ uri, verb: 'GET', responseHeaders: false });
const params = { path: 'x', accept };

type Calls = readonly (readonly [string, () => Promise<Reply>])[];

/** restCalls to this address, and calls of every route through the adapters of that name. */
function calls(gateway: Gateway, uri: string, adapter: string): Calls {
  return [
    ['a GET of restCall', () => restCall(gateway, get(uri))],
    ['a POST of restCall', () => restCall(gateway, { uri, verb: 'POST', responseHeaders: true, body: {} })],
    ...throughAdapters(gateway, adapter),
  ];
}

function throughAdapters(gateway: Gateway, adapter: string): Calls {
  return kinds.flatMap((kind): Calls => {
    const name = `${kind} ${adapter}`;
    const patch = { params: { ...params, method: 'PATCH' }, body: { a: 1 } };
    return [
      [`an action of ${kind}`, () => relay(gateway, 'restAction', name, { params, body: { a: 1 } })],
      [`a query of ${kind}`, () => relay(gateway, 'restQuery', name, { params })],
      [`a PATCH of ${kind}`, () => relay(gateway, 'restRequest', name, patch)],
    ];
  });
}

function adaptersFor(adapter: string, url: string, more: object): readonly Record<string, unknown>[] {
  return kinds.map((kind) => ({ name: `${kind} ${adapter}`, kind, url, auth: { type: 'none' }, ...more }));
}

async function each(made: Calls, check: (reply: Reply, what: string) => void): Promise<void> {
  const replies = await Promise.all(made.map(([, call]) => call()));
  for (const [index, reply] of replies.entries()) check(reply, made[index]?.[0] ?? '');
}

const assertReached = (made: Calls): Promise<void> =>
  each(made, (reply, what) => {
    assert.equal(reply.status, 200, `${what}: ${reply.text}`);
    assert.equal(reply.header('x-upstream-status'), '200', what);
  });

const authorities = (proxy: ConnectProxy): readonly string[] => [...new Set(proxy.tunnels.map((tunnel) => tunnel.authority))];

/** Tunnels to port 443 and 8443 end at the upstream with TLS, tunnels to loopback at their own address, all others at `far`. */
function toTheTest(asked: string): number | undefined {
  if (/^(127\.|\[::1\])/u.test(asked)) return undefined;
  return /:8?443$/u.test(asked) ? secureFar.port : far.port;
}

for (const scheme of ['http', 'https'] as const) {
  describe(`an ${scheme} proxy`, async () => {
    const options = { to: toTheTest, ...(scheme === 'https' ? { identity } : {}) };
    const right = `${credentials.username}:${credentials.password}`;
    const [open, closed, resolving, other] = await Promise.all([
      connectProxy({ after }, options),
      connectProxy({ after }, { ...options, credentials: right }),
      connectProxy({ after }, options),
      connectProxy({ after }, { ...options, credentials: 'gateway:another' }),
    ]);
    const byEnvironment = { url: closed.url, username: credentials.username, password: { env: 'TEST_PROXY_PASSWORD' } };
    const through = (proxy: object, more: object, urls: Record<string, string>): Promise<Gateway> => {
      const settings = { tls: { caFile }, proxy };
      const adapters = Object.entries(urls).flatMap(([name, url]) => adaptersFor(name, url, settings));
      return configured({ ...settings, ...more }, adapters);
    };
    const plain = 'http://198.41.0.4:8080';
    const secure = 'https://198.41.0.4:8443';
    const local = `http://localhost:${far.port}`;

    test('without authentication gets a CONNECT to the checked address, for http and for https', async () => {
      const gateway = await through({ url: open.url }, { allow: ['localhost'] }, { plain, secure, local });
      for (const [name, url] of Object.entries({ plain, secure })) {
        open.forget();
        await assertReached(calls(gateway, url, name));
        assert.deepEqual(authorities(open), [new URL(url).host]);
        for (const tunnel of open.tunnels) assert.deepEqual(Object.keys(tunnel.headers), ['host']);
      }
      // The gateway looks the name up, and the proxy gets the address.
      open.forget();
      await assertReached(calls(gateway, local, 'local'));
      for (const asked of authorities(open)) assert.match(asked, /^(127\.0\.0\.1|\[::1\]):\d+$/u);
    });

    test('gets user name and password by Basic in UTF-8 (RFC 7617), and the upstream gets neither', async () => {
      const gateway = await through(byEnvironment, {}, { plain });
      far.answer(() => jsonReply('{}'));
      await assertReached(calls(gateway, plain, 'plain'));
      for (const tunnel of closed.tunnels) assert.equal(tunnel.credentials, right);
      assert.deepEqual(authorities(closed), [new URL(plain).host]);
      for (const request of far.requests) assert.doesNotMatch(request.head, /proxy-/iu);
    });

    test('with `resolves` gets the name itself', async () => {
      const url = 'https://far.example';
      const gateway = await through({ url: resolving.url, resolves: true }, {}, { named: url });
      await assertReached(calls(gateway, `${url}/`, 'named'));
      // far.example has no address (RFC 6761 6.5): a gateway that looked the name up could not call.
      assert.deepEqual(authorities(resolving), ['far.example:443']);
      assert.equal(secureFar.requests.at(-1)?.serverName, 'far.example');
      assert.equal(secureFar.requests.at(-1)?.host, 'far.example');
    });

    test('that refuses the password is 502; the reply says what to correct and shows no secret', async () => {
      const gateway = await through({ url: other.url, ...credentials }, {}, { plain });
      await each(calls(gateway, plain, 'plain'), (reply, what) => {
        const { detail } = assertProblem(reply, 502, 'upstream-connect-failed');
        assert.match(detail, /proxy.*407.*proxy\.username.*proxy\.password/u, what);
        assert.ok(detail.includes(`127.0.0.1:${other.port}`), detail);
        assertNoSecret(reply.text);
      });
      // restCall twice; of each kind two actions of two attempts each and a query of three.
      assert.ok(other.tunnels.length <= 2 + 3 * 7, `${other.tunnels.length}`);
      for (const line of [...gateway.stdout, ...gateway.stderr]) assertNoSecret(line);
    });
  });
}

/** Fails where the text holds the password of the proxy, or the header that carries the password. */
function assertNoSecret(text: string): void {
  const { username, password } = credentials;
  const encoded = Buffer.from(`${username}:${password}`).toString('base64');
  for (const secret of [password, 'CANARY', encoded, encoded.slice(0, 24), 'Proxy-Authorization']) {
    assert.ok(!text.toLowerCase().includes(secret.toLowerCase()), text);
  }
}

test('a CONNECT to an IPv6 address has brackets', async (t) => {
  const proxy = await connectProxy(t, { to: () => far.port });
  const settings = { proxy: { url: proxy.url } };
  const url = 'http://[2001:4860:4860:0::8888]:8080';
  const gateway = await configured(settings, adaptersFor('far', url, settings));
  await assertReached(calls(gateway, url, 'far'));
  assert.deepEqual(authorities(proxy), ['[2001:4860:4860::8888]:8080']);
});

test('a tunnel is kept, and used again for the same upstream alone', async (t) => {
  const proxy = await connectProxy(t, { to: () => far.port });
  const gateway = await configured({ proxy: { url: proxy.url } });
  for (const host of ['198.41.0.4', '198.41.0.4', '9.9.9.9', '198.41.0.4']) {
    far.answer(() => jsonReply('{}'));
    responseOf(await restCall(gateway, get(`http://${host}/`)));
    assert.equal(far.request.header('host'), host);
  }
  assert.deepEqual(authorities(proxy), ['198.41.0.4:80', '9.9.9.9:80']);
});

describe('a proxy that', async () => {
  const proxy = await upstream({ after });
  const settings = { proxy: { url: proxy.url, ...credentials }, timeouts: { connect: '1s' } };
  const gateway = await startGateway(
    { after },
    { config: { outbound: settings }, adapters: adaptersFor('far', 'http://198.41.0.4', settings) },
  );
  const made = calls(gateway, 'http://198.41.0.4/', 'far');
  const faults: Record<string, { readonly answer: string; readonly ending?: 'end' | 'reset'; readonly says: RegExp }> = {
    'answers other text than HTTP': { answer: 'SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n', says: /no HTTP\/1\.1/u },
    'answers HTTP/2': { answer: '\u0000\u0000\u0012\u0004\u0000\u0000\u0000\u0000\u0000\r\n\r\n', says: /no HTTP\/1\.1/u },
    'answers an impossible status': { answer: 'HTTP/1.1 099 X\r\n\r\n', says: /no HTTP\/1\.1/u },
    'answers a head without end': { answer: `HTTP/1.1 200 X\r\n${'X-Pad: xxxxxxxx\r\n'.repeat(2000)}`, says: /too long/u },
    'answers twice': {
      answer: 'HTTP/1.1 200 X\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}',
      says: /before the tunnel was used/u,
    },
    'refuses the tunnel': {
      answer: httpReply({ status: 403, body: '{"response":"forged"}' }).toString(),
      says: /refused a tunnel.*403/u,
    },
    'cannot reach the upstream': { answer: httpReply({ status: 503 }).toString(), says: /refused a tunnel.*503/u },
    redirects: {
      answer: httpReply({ status: 302, headers: { Location: 'http://198.41.0.5/' } }).toString(),
      says: /refused a tunnel.*302/u,
    },
    'hangs up': { answer: '', ending: 'end', says: /closed the connection/u },
    'hangs up inside its head': { answer: 'HTTP/1.1 200 Conn', ending: 'end', says: /closed the connection/u },
    resets: { answer: '', ending: 'reset', says: /closed the connection/u },
  };
  for (const [what, { answer, ending, says }] of Object.entries(faults)) {
    test(`${what} is 502 upstream-connect-failed for every route and kind, and the reply names the proxy`, async () => {
      proxy.answer((_, socket) => {
        if (ending === 'reset') return void socket.resetAndDestroy();
        if (ending === 'end') return void socket.end(answer);
        return answer;
      });
      await each(made, (reply, route) => {
        const { detail, upstream } = assertProblem(reply, 502, 'upstream-connect-failed');
        assert.match(detail, says, route);
        assert.ok(detail.includes(`the proxy ${proxy.authority}`), detail);
        assert.equal(upstream, undefined);
        assert.doesNotMatch(reply.text, /forged/u);
        assertNoSecret(reply.text);
      });
      for (const request of proxy.requests) assert.equal(request.method, 'CONNECT');
      assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
    });
  }

  test('never answers is 504 upstream-timeout in the phase connect', async () => {
    proxy.answer(() => undefined);
    await each(made, (reply) => {
      const { detail } = assertProblem(reply, 504, 'upstream-timeout');
      assert.match(detail, /phase connect/u);
      assert.match(detail, /proxy/u);
      assertNoSecret(reply.text);
    });
  });

  test('sends an interim reply first can be called through', async () => {
    proxy.answer((request) =>
      request.method === 'CONNECT'
        ? 'HTTP/1.1 102 X\r\n\r\nHTTP/1.0 200 Connection established\r\n\r\n'
        : jsonReply('{"through":true}'),
    );
    assert.equal(responseOf(await restCall(gateway, get('http://198.41.0.4/'))), '{"through":true}');
    assert.deepEqual(
      proxy.requests.map(({ method, target }) => `${method} ${target}`),
      ['CONNECT 198.41.0.4:80', 'GET /'],
    );
    await assertReached(made);
  });

  test('is down is 502, and the reply names the proxy', async () => {
    await proxy.close();
    await each(made, (reply) => {
      const { detail } = assertProblem(reply, 502, 'upstream-connect-failed');
      assert.match(detail, /proxy.*refused the connection/u);
      assert.ok(detail.includes(proxy.authority), detail);
      assertNoSecret(reply.text);
    });
  });

  test('fails leaves no secret in a log line or a metric', async () => {
    const metrics = await gateway.send({ target: '/metrics', role: 'admin' });
    assert.equal(metrics.status, 200);
    for (const line of [...gateway.stdout, ...gateway.stderr, metrics.text]) assertNoSecret(line);
    assert.ok(gateway.stderr.length > 100);
  });
});

describe('R62: an https proxy whose certificate', async () => {
  const day = 86_400_000;
  const faults: Record<string, { readonly identity: ReturnType<typeof selfSigned>; readonly says: RegExp }> = {
    'is self-signed': { identity: selfSigned({ names: ['127.0.0.1'] }), says: /self-signed/u },
    'has expired': {
      identity: authority.issue({
        names: ['127.0.0.1'],
        notBefore: new Date(Date.now() - 9 * day),
        notAfter: new Date(Date.now() - day),
      }),
      says: /expired/u,
    },
    'is for another name': { identity: authority.issue({ names: ['proxy.example'] }), says: /wrong name.*127\.0\.0\.1/u },
    'is from an unknown authority': {
      identity: createAuthority('other').issue({ names: ['127.0.0.1'] }),
      says: /unknown authority/u,
    },
  };
  const proxies = new Map<string, ConnectProxy>();
  for (const [what, fault] of Object.entries(faults)) {
    proxies.set(what, await connectProxy({ after }, { identity: fault.identity, to: () => far.port }));
  }
  const through = (what: string): object => ({ proxy: { url: proxies.get(what)?.url, ...credentials } });
  const gateway = await startGateway(
    { after },
    {
      config: { outbound: { ...through('has expired'), tls: { caFile } } },
      adapters: Object.keys(faults).flatMap((what) => [
        ...adaptersFor(what, 'http://198.41.0.4', { ...through(what), tls: { caFile } }),
        // `verify: false` is about the orchestrator; the proxy's certificate is verified all the same.
        ...adaptersFor(`${what}, careless`, 'http://198.41.0.4', { ...through(what), tls: { caFile, verify: false } }),
      ]),
    },
  );

  for (const [what, { says }] of Object.entries(faults)) {
    test(`${what} is 502 upstream-tls-failed; the reply names the proxy, and the proxy gets no credentials`, async () => {
      const made = [
        ...(what === 'has expired' ? calls(gateway, 'http://198.41.0.4/', what) : throughAdapters(gateway, what)),
        ...throughAdapters(gateway, `${what}, careless`),
      ];
      await each(made, (reply, route) => {
        const { detail } = assertProblem(reply, 502, 'upstream-tls-failed');
        assert.match(detail, says, route);
        assert.ok(detail.includes(`the proxy 127.0.0.1:${proxies.get(what)?.port}`), detail);
        assertNoSecret(reply.text);
      });
      assert.deepEqual(proxies.get(what)?.tunnels, []);
    });
  }

  test('is missing, since the proxy speaks plain HTTP, is 502, and the reply says so', async (t) => {
    const proxy = await connectProxy(t, { to: () => far.port });
    const url = proxy.url.replace('http:', 'https:');
    const gateway = await configured({ proxy: { url, ...credentials } });
    const { detail } = assertProblem(await restCall(gateway, get('http://198.41.0.4/')), 502, 'upstream-tls-failed');
    assert.match(detail, /proxy.*plain HTTP/u);
  });

  test('is never asked for, since the configuration says http, is 502', async (t) => {
    const proxy = await connectProxy(t, { identity, to: () => far.port });
    const url = proxy.url.replace('https:', 'http:');
    const gateway = await configured({ proxy: { url, ...credentials } });
    const reply = await restCall(gateway, get('http://198.41.0.4/'));
    assert.match(assertProblem(reply, 502, 'upstream-connect-failed').detail, /the proxy/u);
    assertNoSecret(reply.text);
  });
});

test('R62: the certificate of an upstream behind a proxy is verified', async (t) => {
  const wrong = await tlsUpstream(t, authority.issue({ names: ['other.example'] }));
  const proxy = await connectProxy(t, { to: () => wrong.port });
  const settings = { tls: { caFile }, proxy: { url: proxy.url, resolves: true } };
  const gateway = await configured(settings, adaptersFor('far', 'https://far.example', settings));
  await each(calls(gateway, 'https://far.example/', 'far'), (reply) => {
    const { detail } = assertProblem(reply, 502, 'upstream-tls-failed');
    assert.match(detail, /the upstream far\.example:443.*wrong name/u);
  });
  assert.equal(wrong.requests.length, 0);
});

interface Case {
  readonly uri: string;
  readonly category: string;
  readonly expect: 'allow' | 'deny' | 'invalid';
}

const cases = JSON.parse(readFileSync(new URL('support/ssrf-cases.json', import.meta.url), 'utf8')) as readonly Case[];

/** Host of a row that needs no look-up: an address, or a name that the policy judges by its text. The others would ask a DNS server. */
function selfEvident({ uri, category }: Case): string | undefined {
  const read = readDestination(uri);
  if ('problem' in read || category === 'self') return undefined;
  const host = read.url.hostname.replaceAll(/[[\]]/gu, '');
  return isIP(host) !== 0 || /(?:^|\.)localhost\.?$/u.test(host) ? host : undefined;
}

describe('the outbound policy behind a proxy', async () => {
  const [checking, resolving] = await Promise.all([
    connectProxy({ after }, { to: () => far.port }),
    connectProxy({ after }, { to: () => far.port }),
  ]);
  const both = [
    [{ url: checking.url }, checking],
    [{ url: resolving.url, resolves: true }, resolving],
  ] as const;

  test('R1: denies as without a proxy: 403, and the proxy gets no connection', async () => {
    const denied = cases.filter((row) => row.expect === 'deny' && selfEvident(row) !== undefined);
    assert.ok(denied.length > 70, `${denied.length}`);
    for (const [settings, proxy] of both) {
      const gateway = await configured({ proxy: settings });
      proxy.forget();
      for (const { uri } of denied) assertProblem(await restCall(gateway, get(uri)), 403, 'destination-denied');
      assert.equal(proxy.connections, 0);
    }
  });

  test('R3: admits a call to exactly the address that it judged', async () => {
    const allowed = cases.filter(
      (row) => row.expect === 'allow' && selfEvident(row) !== undefined && row.uri.startsWith('http:'),
    );
    assert.ok(allowed.length >= 8, `${allowed.length}`);
    const expected = allowed.map((row) => {
      const host = selfEvident(row) ?? '';
      return `${isIP(host) === 6 ? `[${host}]` : host}:${new URL(row.uri).port || '80'}`;
    });
    for (const [settings, proxy] of both) {
      const gateway = await configured({ proxy: settings });
      proxy.forget();
      far.answer(() => jsonReply('{}'));
      for (const { uri } of allowed) responseOf(await restCall(gateway, get(uri)));
      // Two spellings of one address may share a tunnel.
      assert.deepEqual(authorities(proxy), [...new Set(expected)]);
    }
  });

  test('R9: judges each redirect', async () => {
    for (const [settings, proxy] of both) {
      const gateway = await configured({ proxy: settings });
      for (const location of [
        'http://127.0.0.1/',
        'http://localhost/',
        'http://[fd00::1]/',
        'http://169.254.169.254/latest',
        '//10.0.0.1/',
      ]) {
        proxy.forget();
        far.answer(() => httpReply({ status: 302, headers: { Location: location } }));
        assertProblem(await restCall(gateway, get('http://198.41.0.4:8080/')), 403, 'destination-denied');
        assert.ok(
          authorities(proxy).every((asked) => asked === '198.41.0.4:8080'),
          String(authorities(proxy)),
        );
      }
    }
  });

  test('R12: denies the gateway and the proxy themselves', async () => {
    for (const [settings, proxy] of both) {
      const gateway = await configured({ proxy: settings });
      proxy.forget();
      for (const uri of [gateway.url, proxy.url, `http://localhost:${gateway.port}`, `http://localhost:${proxy.port}`]) {
        assertProblem(await restCall(gateway, get(uri)), 403, 'destination-denied');
      }
      assert.equal(proxy.connections, 0);
    }
  });

  test('does not apply to adapters, whose addresses the operator chose', async (t) => {
    const proxy = { url: (await connectProxy(t)).url };
    const gateway = await configured({ deny: ['0.0.0.0/0'] }, adaptersFor('far', far.url, { proxy }));
    far.answer(() => jsonReply('{}'));
    await assertReached(throughAdapters(gateway, 'far'));
    assertProblem(await restCall(gateway, get(far.url)), 403, 'destination-denied');
  });
});

describe('R97: an environment', () => {
  const dangerous: Record<string, Readonly<Record<string, string>>> = {
    NODE_TLS_REJECT_UNAUTHORIZED: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    NODE_USE_ENV_PROXY: {
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: 'http://user:CANARY-password@127.0.0.1:1',
      HTTPS_PROXY: 'http://127.0.0.1:1',
    },
  };
  for (const [name, environment] of Object.entries(dangerous)) {
    test(`with ${name} ends the start with one line and exit code 1`, async (t) => {
      const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({})));
      const { code, stdout, stderr } = await command(['serve', '--config', file], { environment });
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, new RegExp(String.raw`^orchestration-gateway: [^\n]*${name}[^\n]*Unset it[^\n]*\n$`, 'u'));
      assertNoSecret(stderr);
    });
  }

  const insecureFlags: Record<string, string> = {
    '--use-env-proxy': 'does the same as NODE_USE_ENV_PROXY',
    '--insecure-http-parser': 'accepts requests that RFC 9112 refuses',
    '--tls-min-v1.0': 'accepts TLS 1.0',
    '--tls-keylog': 'writes the keys of connections into a file',
  };
  for (const [flag, why] of Object.entries(insecureFlags)) {
    test(`with NODE_OPTIONS=${flag}, which ${why}, ends the start`, async (t) => {
      const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({})));
      const child = spawnCommand(['serve', '--config', file], {
        environment: { NODE_OPTIONS: flag === '--tls-keylog' ? `${flag}=/dev/null` : flag },
      });
      t.after(() => void child.kill('SIGKILL'));
      const output = collect(child);
      await assert.rejects(readyPort(child, output), /ended/u);
      assert.equal(child.exitCode, 1);
      assert.ok(output.stderr.join('\n').includes(flag), output.stderr.join('\n'));
    });
  }

  test('with HTTP_PROXY and the like changes no call: only the configuration names proxies', async (t) => {
    const proxy = await connectProxy(t);
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    const gateway = await startGateway(t, {
      config: { outbound: { allow: [far.authority] } },
      adapters: adaptersFor('far', far.url, {}),
      environment: Object.fromEntries(names.map((name) => [name, proxy.url])),
    });
    far.answer(() => jsonReply('{}'));
    await assertReached(calls(gateway, far.url, 'far'));
    assert.equal(proxy.connections, 0);
  });

  test('with harmless values of these variables lets the gateway start', async () => {
    // `changing` has them in its environment.
    assert.equal((await changing.send({ target: '/healthz' })).status, 200);
  });
});
