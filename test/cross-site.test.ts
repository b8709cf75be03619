import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// What a page of another site cannot do with the browser of a caller: docs/security.md.

const far = await upstream({ after });
const clients = [{ clientId: 'reporting', secretHash: testPasswordHash, roles: ['apiread'], groups: [] }];
const gateway = await startGateway(
  { after },
  {
    adapters: [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
    config: { access: { clients } },
  },
);
const admin = { Authorization: gateway.basicFor('admin') };
const own = `http://127.0.0.1:${gateway.port}`;

type Headers = Readonly<Record<string, string>>;

function send(method: string, target: string, headers: Headers): Promise<Reply> {
  return gateway.send({ method, target, headers: { ...admin, ...headers } });
}

const foreign: Readonly<Record<string, Headers>> = {
  'Sec-Fetch-Site: cross-site': { 'Sec-Fetch-Site': 'cross-site' },
  'Sec-Fetch-Site: same-site': { 'Sec-Fetch-Site': 'same-site' },
  'an unknown Sec-Fetch-Site': { 'Sec-Fetch-Site': 'Same-Origin' },
  'another Origin': { Origin: 'https://evil.example' },
  'another port in Origin': { Origin: 'http://127.0.0.1:1' },
  'another scheme in Origin': { Origin: own.replace('http', 'https') },
  'Origin: null': { Origin: 'null' },
  'its own Origin and another Sec-Fetch-Site': { Origin: own, 'Sec-Fetch-Site': 'cross-site' },
  'a Host and an Origin that a foreign name server gives': {
    Host: `evil.example:${gateway.port}`,
    Origin: `http://evil.example:${gateway.port}`,
    'Sec-Fetch-Site': 'same-origin',
  },
};

describe('a request from another site', () => {
  for (const [what, headers] of Object.entries(foreign)) {
    test(`gets 403 cross-site before anything else is checked: ${what}`, async () => {
      for (const [method, target] of [
        ['POST', '/adapters/reload'],
        ['POST', '/adapters/Local%20NSO/test'],
        ['DELETE', '/automation_catalog/automations/none'],
      ] as const) {
        assertProblem(await send(method, target, { 'Content-Type': 'text/plain', ...headers }), 403, 'cross-site');
      }
      const login = { username: 'admin-user', password: testPassword };
      const refused = await post(gateway, '/login', login, { headers });
      assertProblem(refused, 403, 'cross-site');
      assert.equal(refused.header('set-cookie'), undefined);
      assert.equal(far.connections, 0);
    });

    test(`reads with GET and HEAD, which change nothing: ${what}`, async () => {
      for (const method of ['GET', 'HEAD']) assert.equal((await send(method, '/whoami', headers)).status, 200);
    });
  }

  test('gets the refusal of /oauth/token in the shape of RFC 6749', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'cross-site' };
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'reporting', client_secret: testPassword });
    const reply = await gateway.send({ method: 'POST', target: '/oauth/token', headers, body: body.toString() });
    assert.equal(reply.status, 403);
    assert.equal((reply.json() as { readonly error: string }).error, 'invalid_request');
  });
});

test('a request of the gateway’s own site, or of no browser, is served', async () => {
  for (const headers of [
    {},
    { 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': 'same-origin', Origin: own },
    { Origin: `http://localhost:${gateway.port}`, Host: `localhost:${gateway.port}` },
  ]) {
    far.answer(() => jsonReply('{}'));
    assert.equal((await send('POST', '/adapters/Local%20NSO/test', headers)).status, 200, JSON.stringify(headers));
  }
});

test('a request with Sec-Fetch-Mode gets no Basic challenge, so that no browser asks for a password', async () => {
  const browser = { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'same-origin' };
  const form = { ...browser, 'Content-Type': 'application/x-www-form-urlencoded' };
  const replies = [
    await gateway.send({ target: '/whoami', headers: browser }),
    await gateway.send({ target: '/whoami', headers: { ...browser, Authorization: 'Bearer a.b.c' } }),
    await gateway.send({ target: '/whoami', headers: { ...browser, Authorization: 'Basic !' } }),
    await post(gateway, '/login', { username: 'admin-user', password: 'wrong' }, { headers: browser }),
    await gateway.send({ method: 'POST', target: '/oauth/token', headers: form, body: 'grant_type=client_credentials' }),
  ];
  for (const reply of replies) {
    assert.equal(reply.status, 401);
    assert.match(reply.header('www-authenticate') ?? '', /^Bearer realm="Orchestration Gateway"/);
    assert.doesNotMatch(reply.header('www-authenticate') ?? '', /Basic/);
  }
  assert.match((await gateway.send({ target: '/whoami' })).header('www-authenticate') ?? '', /^Basic /);
});

describe('a session cookie', async () => {
  const login = await post(gateway, '/login', { username: 'admin-user', password: testPassword });
  const [Cookie = ''] = (login.header('set-cookie') ?? '').split(';');
  const who = (headers: Headers): Promise<Reply> => gateway.send({ target: '/whoami', headers });

  for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST.']) {
    test(`is accepted where Host is a name of the listener: ${name}`, async () => {
      for (const Host of [name, `${name}:${gateway.port}`, `${name}:8443`])
        assert.equal((await who({ Cookie, Host })).status, 200, Host);
    });
  }

  for (const name of ['evil.example', '127.0.0.1.evil.example', '10.0.0.1', '[::1]', '']) {
    test(`is refused where Host is another name, as after DNS rebinding: ${JSON.stringify(name)}`, async () => {
      const { detail } = assertProblem(await who({ Cookie, Host: name }), 401, 'unauthenticated');
      assert.match(detail, /server\.publicUrl/);
    });
  }

  test('changes something only where the browser says that the page is the gateway’s', async () => {
    const change = (headers: Headers): Promise<Reply> =>
      gateway.send({ method: 'POST', target: '/adapters/Local%20NSO/test', headers: { Cookie, ...headers } });
    far.answer(() => jsonReply('{}'));
    for (const headers of [{}, { 'Sec-Fetch-Site': 'none' }]) {
      const { detail } = assertProblem(await change(headers), 403, 'cross-site');
      assert.match(detail, /Sec-Fetch-Site: same-origin/);
    }
    for (const headers of [{ 'Sec-Fetch-Site': 'same-origin' }, { Origin: own }])
      assert.equal((await change(headers)).status, 200);
  });

  test('is ignored where the request has an Authorization header, whose Host may be any', async () => {
    assert.equal((await who({ ...admin, Cookie, Host: 'evil.example' })).status, 200);
  });
});

describe('a reply to an authenticated caller', () => {
  const headersOf = (reply: Reply): readonly (string | undefined)[] =>
    ['cache-control', 'vary', 'x-content-type-options'].map((name) => reply.header(name));

  test('is stored by no cache and keeps its media type', async () => {
    far.answer(() => jsonReply('{}'));
    const query = { params: { path: 'a', accept: '*/*' } };
    for (const reply of [
      await send('GET', '/whoami', {}),
      await send('HEAD', '/whoami', {}),
      await send('GET', '/automation_catalog/export', {}),
      await send('GET', '/automation_catalog/automations/none', {}),
      await send('GET', '/metrics', {}),
      await post(gateway, '/orchestrator_manager/restQuery/Local%20NSO', query, { role: 'admin' }),
      await gateway.send({ target: '/whoami' }),
    ])
      assert.deepEqual(headersOf(reply), ['no-store', 'Authorization, Cookie', 'nosniff'], reply.head);
  });

  test('with an ETag may be kept by its caller, and is checked before each use', async () => {
    const created = await post(gateway, '/automation_catalog/automations', { name: 'kept' }, { role: 'admin' });
    const target = created.header('location') ?? '';
    const read = await send('GET', target, {});
    const unchanged = await send('GET', target, { 'If-None-Match': read.header('etag') ?? '' });
    assert.equal(unchanged.status, 304);
    for (const reply of [created, read, unchanged])
      assert.deepEqual(headersOf(reply), ['private, no-cache', 'Authorization, Cookie', 'nosniff']);
  });
});

test('a refused request of another site is on record', async () => {
  // No other test has refusals of this route: those that follow a first one are only counted.
  await send('PUT', '/automation_catalog/automations/none', { Origin: 'https://evil.example', 'X-Request-Id': 'from-evil' });
  type Record = Readonly<{ requestId?: string; code?: string; decision?: string }>;
  const recorded = async (): Promise<boolean> => {
    const { list } = (await send('GET', '/audit', {})).json() as { readonly list: readonly Record[] };
    const found = list.find(({ requestId }) => requestId === 'from-evil');
    if (found !== undefined) assert.deepEqual([found.code, found.decision], ['cross-site', 'denied']);
    return found !== undefined;
  };
  await until('the refusal is on record', recorded);
});
