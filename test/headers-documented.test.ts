import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { documentedHeaders, type Fields } from './support/documentation/documented-headers.ts';
import type { SentMessage } from './support/documentation/header-conditions.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { collector } from './support/upstreams/collector.ts';
import { connectProxy } from './support/upstreams/connect-proxy.ts';
import { tokenEndpoint } from './support/upstreams/token-endpoint.ts';
import { closedPort, type FarRequest, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

const documented = documentedHeaders();
const { assertDocumented } = documented;

const owner = { after };
const far = await upstream(owner);
const elsewhere = await upstream(owner);
const [issuer, hooks] = [await upstream(owner), await upstream(owner)];
const tokens = await tokenEndpoint(owner, 'adapter secret');
const proxy = await connectProxy(owner);
const [plainCollector, gzipCollector] = [await collector(owner), await collector(owner)];

const authentications = {
  none: { type: 'none' },
  basic: { type: 'basic', username: 'adapter', password: 'adapter secret' },
  bearer: { type: 'bearer', token: 'adapter-token' },
  header: { type: 'header', name: 'X-Api-Key', value: 'adapter-key' },
  token: { type: 'token', token: 'adapter-token' },
  oauth2: tokens.authOf('adapter'),
} as const;
type AuthType = keyof typeof authentications;
const authTypes = Object.keys(authentications) as AuthType[];

const throughProxy = { kind: 'rest', url: far.url };
const settings = {
  config: {
    outbound: { allow: [far.authority, elsewhere.authority] },
    access: { oidc: [{ issuer: issuer.url, audience: 'gateway', consoleClientId: 'console' }] },
    notifications: [{ url: hooks.url, secret: `whsec_${'x'.repeat(32)}` }],
  },
  adapters: [
    ...authTypes.map((name) => ({ name, kind: 'nso', url: far.url, auth: authentications[name] })),
    { name: 'proxied', ...throughProxy, proxy: { url: proxy.url } },
    { name: 'proxied with a user', ...throughProxy, proxy: { url: proxy.url, username: 'configured', password: 'x' } },
  ],
  environment: { OTEL_EXPORTER_OTLP_ENDPOINT: plainCollector.url, OTEL_BSP_SCHEDULE_DELAY: '20' },
};
const gateway = await startGateway(owner, settings);

/** The fields of the requests at an upstream since its last `answer`. */
function arrived({ requests }: { readonly requests: readonly FarRequest[] }): readonly Fields[] {
  return requests.map(({ headers }) => headers);
}

const ownHeaders = {
  'X-Api-Key': 'caller',
  Accept: 'application/caller',
  'accept-encoding': 'caller',
  'User-Agent': 'caller',
  traceparent: 'caller',
  tracestate: 'caller=1',
  Cookie: 'caller',
  Authorization: 'caller',
  'If-Match': '"caller"',
  'Content-Type': 'application/caller+json',
  'Content-Encoding': 'caller',
  'Content-Language': 'caller',
  'Content-Location': '/caller',
} as const;
const credentials = { user: 'caller', password: 'caller' };

/** Requests of restCall, with the facts that the conditions of the page depend on. */
const restCalls: readonly (readonly [string, Readonly<Record<string, unknown>>, SentMessage])[] = [
  ['a plain GET', { verb: 'GET' }, {}],
  ['a GET with a body', { verb: 'GET', body: {} }, { body: true }],
  ['a DELETE without a body', { verb: 'DELETE' }, {}],
  ['a PATCH without a body', { verb: 'PATCH' }, {}],
  ['a POST with a body, user and password', { verb: 'POST', body: {}, ...credentials }, { body: true, userOrPassword: true }],
  [
    'a PUT with headers of the caller',
    { verb: 'PUT', body: {}, headers: ownHeaders },
    { body: true, callerHeaders: Object.keys(ownHeaders) },
  ],
  [
    'a POST with headers of the caller, without a body',
    { verb: 'POST', headers: ownHeaders },
    { callerHeaders: Object.keys(ownHeaders) },
  ],
];

describe('headers of restCall', () => {
  for (const [name, request, facts] of restCalls) {
    const sent = { ...facts, method: String(request['verb']) };
    const call = (): Promise<Reply> => restCall(gateway, { uri: `${far.url}/a`, responseHeaders: false, ...request });

    test(`${name} sends the documented headers`, async () => {
      far.answer(() => jsonReply('{}'));
      assert.equal((await call()).status, 200);
      assert.equal(far.requests.length, 1);
      for (const fields of arrived(far)) assertDocumented('restCall', fields, sent);
    });

    for (const status of [303, 307]) {
      const changedToGet = status === 303 && sent.method !== 'GET';
      const redirected = changedToGet ? { ...sent, method: 'GET', body: false, changedToGet } : sent;

      test(`${name} sends the documented headers after a ${status} to the same origin`, async () => {
        far.answer(({ target }) => (target === '/a' ? httpReply({ status, headers: { Location: '/b' } }) : jsonReply('{}')));
        assert.equal((await call()).status, 200);
        const [first = [], second = []] = arrived(far);
        assertDocumented('restCall', first, sent);
        assertDocumented('restCall: redirect to the same origin', second, redirected);
      });

      test(`${name} sends the documented headers after a ${status} to another origin, and back`, async () => {
        far.answer(({ target }) =>
          target === '/a' ? httpReply({ status, headers: { Location: `${elsewhere.url}/b` } }) : jsonReply('{}'),
        );
        elsewhere.answer(() => httpReply({ status: 307, headers: { Location: `${far.url}/c` } }));
        assert.equal((await call()).status, 200);
        const [, back = []] = arrived(far);
        const [there = []] = arrived(elsewhere);
        for (const fields of [there, back]) assertDocumented('restCall: redirect to another origin', fields, redirected);
      });
    }
  }

  test('restCall refuses each header name that the page forbids', async () => {
    const forbidden = documented.table('| name in `headers` | reply | reason |');
    assert.ok(forbidden.length > 10);
    far.answer(() => jsonReply('{}'));
    for (const [cell = '', status] of forbidden) {
      const name = /`([\w-]+)`/u.exec(cell)?.[1] ?? assert.fail(cell);
      for (const each of cell.includes('each other name') ? [name, `${name}-x`] : [name]) {
        const reply = await restCall(gateway, { uri: far.url, verb: 'GET', headers: { [each]: 'x' }, responseHeaders: false });
        assert.equal(String(reply.status), status, each);
      }
    }
    assert.equal(far.connections, 0);
  });
});

const path = 'restconf/data/x';
const accept = 'application/caller';
/** Headers of the caller's request to the gateway; `passedOn` names those that an orchestrator gets. */
const requestHeaders = {
  'If-Match': '"caller"',
  'If-Unmodified-Since': 'caller',
  'X-Cisco-NSO-Commit-Params': 'caller',
  'X-Request-Id': 'caller',
  Cookie: 'caller=1',
  Prefer: 'wait=20',
  Accept: 'application/json',
  'Accept-Language': 'caller',
  'X-Forwarded-For': '192.0.2.1',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
  tracestate: 'caller=1',
};
const passedOn = ['If-Match', 'If-Unmodified-Since', 'X-Cisco-NSO-Commit-Params'];

describe('headers to an orchestrator', () => {
  for (const auth of authTypes) {
    const credential: SentMessage = { auth, ...(auth === 'header' ? { authName: 'X-Api-Key' } : {}) };

    test(`restAction with auth ${auth} sends the documented headers`, async () => {
      far.answer(() => jsonReply('{}'));
      await relay(gateway, 'restAction', auth, { params: { path, accept }, body: {} });
      await relay(gateway, 'restAction', auth, { params: { path, accept }, body: { a: 1 } }, { headers: requestHeaders });
      const contentType = 'application/caller+json';
      await relay(gateway, 'restAction', auth, { params: { path, accept, contentType }, body: { a: 1 } });
      const [empty = [], plain = [], typed = []] = arrived(far);
      assertDocumented('restAction', empty, credential);
      assertDocumented('restAction', plain, { ...credential, body: true, callerHeaders: passedOn });
      assertDocumented('restAction', typed, { ...credential, body: true, contentType: true });
    });

    test(`restQuery with auth ${auth} sends the documented headers`, async () => {
      far.answer(() => jsonReply('{}'));
      await relay(gateway, 'restQuery', auth, { params: { path, accept } });
      await relay(gateway, 'restQuery', auth, { params: { path, accept } }, { headers: requestHeaders });
      assert.equal(far.requests.length, 2);
      for (const fields of arrived(far)) assertDocumented('restQuery', fields, credential);
    });

    test(`restRequest with auth ${auth} sends the documented headers`, async () => {
      for (const method of ['DELETE', 'GET', 'PATCH', 'POST', 'PUT']) {
        far.answer(() => jsonReply('{}'));
        const contentType = 'application/caller+json';
        await relay(gateway, 'restRequest', auth, { params: { method, path, accept } }, { headers: requestHeaders });
        await relay(gateway, 'restRequest', auth, { params: { method, path, accept }, body: { a: 1 } });
        await relay(gateway, 'restRequest', auth, { params: { method, path, accept, contentType }, body: { a: 1 } });
        const [bare = [], plain = [], typed = []] = arrived(far);
        assertDocumented('restRequest', bare, { ...credential, method, callerHeaders: passedOn });
        assertDocumented('restRequest', plain, { ...credential, method, body: true });
        assertDocumented('restRequest', typed, { ...credential, method, body: true, contentType: true });
      }
    });

    test(`a health probe with auth ${auth} sends the documented headers`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await gateway.send({
        method: 'POST',
        target: `/adapters/${auth}/test`,
        role: 'admin',
        headers: requestHeaders,
      });
      assert.equal(reply.status, 200, reply.text);
      assert.ok(far.requests.length > 0);
      for (const fields of arrived(far)) assertDocumented('Health probe', fields, credential);
    });
  }
});

describe('headers of the gateway’s own requests', () => {
  test('a token request sends the documented headers', async () => {
    await relay(gateway, 'restQuery', 'oauth2', { params: { path, accept } });
    const requests = tokens.requestsOf('adapter');
    assert.ok(requests.length > 0);
    for (const { headers } of requests) assertDocumented('Token request', headers, {});
  });

  test('the requests to an OIDC issuer send the documented headers', async () => {
    const discovery = {
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/keys`,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
    };
    issuer.answer(({ target }) => jsonReply(JSON.stringify(target === '/keys' ? { keys: [] } : discovery)));
    const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const claims = { iss: issuer.url, aud: 'gateway', sub: 'caller', exp: Math.floor(Date.now() / 1000) + 60 };
    const token = `${encoded({ alg: 'RS256', kid: 'caller' })}.${encoded(claims)}.${encoded({})}`;
    const headers = { ...requestHeaders, Authorization: `Bearer ${token}` };
    assert.equal((await gateway.send({ target: '/whoami', headers })).status, 401);
    assert.deepEqual(issuer.requests.map(({ target }) => target).slice(0, 2), ['/.well-known/openid-configuration', '/keys']);
    for (const fields of arrived(issuer)) assertDocumented('OIDC discovery and keys', fields, {});
    const before = issuer.requests.length;
    const begun = await gateway.send({ target: '/login/oidc' });
    const state = new URL(begun.header('location') ?? '').searchParams.get('state') ?? '';
    const cookie = begun.header('set-cookie')?.split(';')[0] ?? '';
    await gateway.send({ target: `/login/oidc/callback?code=x&state=${state}`, headers: { Cookie: cookie } });
    const [exchange] = arrived(issuer).slice(before);
    assert.equal(issuer.requests[before]?.target, '/token');
    assertDocumented('Login by an issuer', exchange ?? [], {});
  });

  test('a notification sends the documented headers', async () => {
    hooks.answer(() => httpReply({ status: 204 }));
    const changed = {
      ...settings,
      adapters: [...settings.adapters, { name: 'down', kind: 'rest', url: `http://127.0.0.1:${await closedPort()}` }],
    };
    await reloadWith(gateway, changed);
    await gateway.send({ method: 'POST', target: '/adapters/down/test', role: 'admin' });
    await until('the receiver has a notification', () => hooks.requests.length > 0);
    assertDocumented('Notification', hooks.request.headers, {});
    await reloadWith(gateway, settings);
  });

  test('CONNECT sends the documented headers to a proxy', async () => {
    for (const [name, proxyUser] of [
      ['proxied', false],
      ['proxied with a user', true],
    ] as const) {
      far.answer(() => jsonReply('{}'));
      proxy.forget();
      await relay(gateway, 'restQuery', name, { params: { path, accept } });
      const [{ headers } = assert.fail('no tunnel')] = proxy.tunnels;
      assertDocumented('CONNECT to a proxy', fieldsOf(headers), { proxyUser });
      for (const fields of arrived(far)) assertDocumented('restQuery', fields, {});
    }
  });

  test('a batch of spans has the documented headers', async (t) => {
    const more = await startGateway(t, {
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: gzipCollector.url,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_EXPORTER_OTLP_HEADERS: 'api-key=configured,x-tenant=configured',
        OTEL_BSP_SCHEDULE_DELAY: '20',
      },
    });
    await more.send({ target: '/healthz' });
    await gateway.send({ target: '/healthz' });
    await until('both collectors get spans', () => plainCollector.requests.length > 0 && gzipCollector.requests.length > 0);
    for (const { headers } of plainCollector.requests) assertDocumented('Traces to a collector', fieldsOf(headers), {});
    for (const { headers } of gzipCollector.requests) {
      assertDocumented('Traces to a collector', fieldsOf(headers), { gzip: true, collectorHeaders: ['api-key', 'x-tenant'] });
    }
  });
});

test('each documented row held for some request, and each row with a condition did not hold for another', () => {
  assert.deepEqual(documented.unseen({ but: 'Headers of the reply' }), []);
});

function fieldsOf(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Fields {
  return Object.entries(headers).map(([name, value]) => [name, String(value)]);
}
