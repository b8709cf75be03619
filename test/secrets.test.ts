import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { post, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, hashOf, startGatewayProcess, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { plantSecrets, textOfStore } from './support/planted-secrets.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { closedPort, type FarHandler, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Row 93 of docs/security.md. A secret is planted in every place that can hold one, and calls are made that succeed and that fail
// in every way. Then replies, log, metrics and store are searched for the secrets.

const secret = plantSecrets();

const far = await upstream({ after });
const refusing = await closedPort();
const provider = await identityProvider({ after });
const base = secret('adapter base path');
const clientSecret = secret('client secret');
const timeouts = { dns: '2s', connect: '2s', firstByte: '1s', idle: '1s', total: '2s' };
const shared = { kind: 'restconf', url: `${far.url}/${base}`, timeouts, responseLimit: '128KiB' };
const tokens = await upstream({ after });
/** A receiver of notifications. */
const hooks = await upstream({ after }, () => httpReply({ status: 500 }));
const webhookSecret = `whsec_${Buffer.from(secret('webhook secret').padEnd(32, 'x')).toString('base64')}`;
const oauth = (path: string): object => ({
  type: 'oauth2',
  tokenUrl: `${tokens.url}/${path}?key=${secret('token query')}`,
  clientId: 'gateway',
  clientSecret: { env: 'ADAPTER_CLIENT_SECRET' },
});
const adapters = [
  { ...shared, name: 'token', auth: { type: 'token', token: secret('adapter X-Auth-Token') } },
  { ...shared, name: 'oauth', auth: oauth('issues') },
  { ...shared, name: 'oauth refused', auth: oauth('refuses') },
  { ...shared, name: 'oauth garbled', auth: oauth('garbles') },
  { ...shared, name: 'basic', auth: { type: 'basic', username: secret('adapter user'), password: { env: 'ADAPTER_PASSWORD' } } },
  { ...shared, name: 'bearer', auth: { type: 'bearer', token: secret('adapter token') } },
  { ...shared, name: 'header', kind: 'rest', auth: { type: 'header', name: 'X-Api-Key', value: secret('adapter header') } },
  {
    ...shared,
    name: 'down',
    url: `http://127.0.0.1:${refusing}/${base}`,
    auth: { type: 'bearer', token: secret('adapter token') },
  },
  {
    ...shared,
    name: 'no TLS',
    url: `https://${far.authority}/${base}`,
    auth: { type: 'bearer', token: secret('adapter token') },
  },
  {
    ...shared,
    name: 'no name',
    url: `http://gateway-test.invalid/${base}`,
    auth: { type: 'bearer', token: secret('adapter token') },
  },
  {
    ...shared,
    name: 'proxied',
    url: 'http://192.0.2.1/',
    auth: { type: 'bearer', token: secret('adapter token') },
    proxy: { url: far.url, username: secret('proxy user'), password: secret('proxy password') },
  },
];
const gateway = await startGatewayProcess(
  { after },
  {
    adapters,
    environment: { ADAPTER_PASSWORD: secret('adapter password'), ADAPTER_CLIENT_SECRET: secret('adapter client secret') },
    config: {
      server: { logLevel: 'trace', requestBodyLimit: '64KiB' },
      outbound: { allow: [far.authority, `127.0.0.1:${refusing}`], timeouts, responseLimit: '128KiB' },
      access: {
        users: [
          { username: 'admin-user', passwordHash: testPasswordHash, roles: ['admin'], groups: [] },
          { username: 'ann', passwordHash: hashOf(secret('login password')), roles: ['admin'], groups: [] },
        ],
        clients: [{ clientId: 'reporting', secretHash: hashOf(clientSecret), roles: ['apiread'], groups: [] }],
        oidc: [{ issuer: provider.issuer, audience }],
      },
      notifications: [{ url: `${hooks.url}/${secret('webhook path')}?key=${secret('webhook query')}`, secret: webhookSecret }],
    },
  },
);

/** Replies of the gateway, each with its request and the places whose secrets it holds on purpose. */
const replies: { readonly what: string; readonly reply: Reply; readonly meant: readonly string[] }[] = [];

async function keep(what: string, sent: Promise<Reply>, meant: readonly string[] = []): Promise<Reply | undefined> {
  // A reply that broke off is not searched.
  const reply = await sent.catch(() => undefined);
  if (reply !== undefined) replies.push({ what, reply, meant });
  return reply;
}

/** Places in what upstreams send. A reply is relayed as the answer; an orchestrator's error is in `upstream` and `detail`. */
const sentByUpstream = ['reply body', 'reply header', 'reply cookie'];
const farText = `{"${secret('reply body')}":1,"errors":{"error":[{"error-tag":"x","error-message":"${secret('reply body')}"}]}}`;
const farHeaders = { 'X-Reply': secret('reply header'), 'Set-Cookie': `s=${secret('reply cookie')}` };

/** The ways in which an upstream answers or fails. */
const behaviours: Readonly<Record<string, FarHandler>> = {
  succeeds: () => jsonReply(farText, { headers: farHeaders }),
  // Not to a probe, which follows two of them.
  'answers 401': ({ target }) =>
    jsonReply(farText, {
      status: [secret('path'), secret('uri path')].some((path) => target.includes(path)) ? 401 : 200,
      headers: farHeaders,
    }),
  'answers 500': () => jsonReply(farText, { status: 500, headers: farHeaders }),
  'answers no JSON': () => jsonReply(`${farText}}`, { headers: farHeaders }),
  'is reset': (_, socket) => void socket.resetAndDestroy(),
  'is cut off': (_, socket) => void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${farText}`),
  'is no HTTP': (_, socket) => void socket.end(`${secret('reply body')} is no HTTP\r\n\r\n`),
  'has a broken head': () => `HTTP/1.1 200 OK\r\n${secret('reply header')} x\r\nContent-Length: 0\r\n\r\n`,
  'does not decode': () => httpReply({ headers: { 'Content-Encoding': 'gzip', ...farHeaders }, body: farText }),
  'is too large': () => httpReply({ headers: farHeaders, body: secret('reply body').repeat(20_000) }),
  'never comes': () => undefined,
  'redirects for ever': (request) => httpReply({ status: 307, headers: { Location: `${request.target}&`, ...farHeaders } }),
  'redirects to what is denied': () => httpReply({ status: 307, headers: { Location: `http://10.0.0.1/${secret('location')}` } }),
  'redirects to nonsense': () => httpReply({ status: 307, headers: { Location: `ftp://u:${secret('location')}@x/` } }),
};

const uriSecrets = `${secret('uri path')}?key=${secret('uri query')}`;
const credentials: readonly object[] = [
  { user: secret('user'), password: secret('password') },
  ...['Authorization', 'authorization', 'AUTHORIZATION'].map((name) => ({
    headers: { [name]: `Bearer ${secret('authorization')}`, Cookie: `a=${secret('cookie')}`, 'X-Api-Key': secret('header') },
  })),
];
const carried = { verb: 'POST', responseHeaders: false, body: { token: secret('body') } };
const params = { path: `${secret('path')}?key=${secret('path query')}`, accept: 'application/yang-data+json' };
const relayed = { params, body: { token: secret('body') } };

test('R93: the upstream gets the secrets meant for it, by calls that succeed and fail in every way', {
  timeout: 110_000,
}, async () => {
  for (const [name, handler] of Object.entries(behaviours)) {
    far.answer(handler);
    await Promise.all([
      ...credentials.map((one) =>
        keep(`restCall: ${name}`, restCall(gateway, { ...carried, ...one, uri: `${far.url}/${uriSecrets}` }), sentByUpstream),
      ),
      ...['basic', 'bearer', 'header'].flatMap((adapter) => [
        keep(`action: ${name}`, relay(gateway, 'restAction', adapter, relayed), sentByUpstream),
        keep(`query: ${name}`, relay(gateway, 'restQuery', adapter, { params }), sentByUpstream),
        keep(
          `request: ${name}`,
          relay(gateway, 'restRequest', adapter, { ...relayed, params: { ...params, method: 'PUT' } }),
          sentByUpstream,
        ),
      ]),
    ]);
    const heard = far.requests.map(({ head, body }) => `${head}\n${body.toString()}`).join('\n');
    const sent = ['user', 'password', 'authorization', 'cookie', 'header', 'body', 'uri path', 'uri query', 'path', 'path query'];
    const own = ['adapter base path', 'adapter user', 'adapter password', 'adapter token', 'adapter header'];
    assert.deepEqual(
      [...sent, ...own].filter((place) => !secret.foundIn(heard, [place]).includes(place)),
      [],
    );
  }
  for (const adapter of ['down', 'no TLS', 'no name', 'proxied']) {
    far.answer(() => httpReply({ status: 407, headers: farHeaders }));
    await keep(`action: ${adapter}`, relay(gateway, 'restAction', adapter, relayed));
    await keep(`query: ${adapter}`, relay(gateway, 'restQuery', adapter, { params }));
  }
});

test('R93: the token endpoint gets the client secret, by tokens that are issued, renewed and refused', async () => {
  let issued = 0;
  tokens.answer((request) => {
    const said = `${request.header('authorization')} ${secret('adapter client secret')} ${request.target}`;
    if (request.target.startsWith('/garbles')) return jsonReply(`{"access_token":"${secret('garbled token')}\\n"}`);
    if (request.target.startsWith('/refuses'))
      return jsonReply(JSON.stringify({ error: 'invalid_client', error_description: said }), { status: 401 });
    issued += 1;
    return jsonReply(JSON.stringify({ access_token: secret(`issued token ${issued}`), token_type: 'Bearer' }));
  });
  const brought = { headers: { 'X-Auth-Token': secret('brought token'), 'Set-Cookie': `s=${secret('brought token')}` } };
  const refused = (): Buffer => httpReply({ status: 401, ...brought });
  for (const handler of [() => jsonReply('{}', brought), refused, () => httpReply({ status: 500, ...brought })]) {
    far.answer(handler);
    for (const adapter of ['token', 'oauth', 'oauth refused', 'oauth garbled']) {
      // An orchestrator's reply to a call with a client's token is relayed; its reply that renews a token is not.
      const meant = adapter === 'oauth' ? ['brought token'] : [];
      await keep(`action: ${adapter}`, relay(gateway, 'restAction', adapter, relayed));
      await keep(`query: ${adapter}`, relay(gateway, 'restQuery', adapter, { params }));
      await keep(`GET: ${adapter}`, relay(gateway, 'restRequest', adapter, { params: { ...params, method: 'GET' } }), meant);
      await keep(`trial: ${adapter}`, post(gateway, `/adapters/${encodeURIComponent(adapter)}/test`, {}), ['adapter base path']);
    }
  }
  // An administrator sees the addresses, which are no secrets.
  await keep('adapters', gateway.send({ target: '/adapters', role: 'admin' }), ['adapter base path']);
  assert.ok(issued > 1);
  const asked = tokens.requests.map(({ head }) => head).join('\n');
  assert.deepEqual(secret.foundIn(asked, ['token query', 'adapter client secret']), ['token query', 'adapter client secret']);
  assert.ok(replies.some(({ reply }) => reply.text.includes('invalid_client')));
});

test('R93: a receiver of notifications gets its path and query, and answers with an error', async () => {
  await until('the receiver has a notification', () => hooks.requests.length > 0);
  const heard = hooks.requests.map(({ head }) => head).join('\n');
  assert.deepEqual(secret.foundIn(heard, ['webhook path', 'webhook query']), ['webhook path', 'webhook query']);
  assert.deepEqual(secret.foundIn(heard, ['webhook secret']), []);
  await keep('notifications', gateway.send({ target: '/notifications', role: 'admin' }));
});

test('R93: refused calls with secrets in them get their replies', async () => {
  far.answer(() => jsonReply('{}'));
  const call = (more: object): Promise<Reply> =>
    restCall(gateway, { ...carried, ...credentials[0], uri: `${far.url}/${uriSecrets}`, ...more });
  const refusals: Readonly<Record<string, object>> = {
    'no connection': { uri: `http://127.0.0.1:${refusing}/${uriSecrets}` },
    'no TLS': { uri: `https://${far.authority}/${uriSecrets}` },
    'no such name': { uri: `http://gateway-test.invalid/${uriSecrets}` },
    denied: { uri: `http://10.0.0.1/${uriSecrets}` },
    'user information': { uri: `http://u:${secret('userinfo')}@10.0.0.1/` },
    'a space': { uri: `http://10.0.0.1/ ${uriSecrets}` },
    'no scheme': { uri: uriSecrets },
    'an impossible port': { uri: `http://10.0.0.1:99999/${uriSecrets}` },
    'an unknown member': { evil: secret('unknown member') },
    'wrong types': {
      user: [secret('user')],
      password: { a: secret('password') },
      headers: [secret('header')],
      verb: secret('verb'),
    },
    'a colon in user': { user: `${secret('user')}:`, password: secret('password') },
    'a line break in password': { password: `${secret('password')}\n` },
    'a header beyond ASCII': { headers: { 'X-Api-Key': `${secret('header')}ü` } },
    'a forbidden header': { headers: { 'Proxy-Authorization': `Basic ${secret('header')}` } },
    'both credentials': { headers: { Authorization: `Bearer ${secret('authorization')}` } },
    metadata: { headers: { 'Metadata-Flavor': secret('header') } },
    'an array as body': { body: [secret('body')] },
    'a nested form': {
      body: { a: { b: secret('body') } },
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    },
    'broken XML': { body: { $xml: `<a>${secret('body')}</b>` }, headers: { 'Content-Type': 'application/xml' } },
  };
  for (const [what, more] of Object.entries(refusals)) await keep(what, call(more));
  for (const text of [
    `{"password":"${secret('password')}"`,
    `{"body":{"a":"${secret('body')}\n"}}`,
    secret('body'),
    `{"user":"${secret('user')}",}`,
  ]) {
    await keep('broken JSON', restCall(gateway, text));
    await keep('broken JSON', relay(gateway, 'restAction', 'basic', text));
    await keep('broken JSON', post(gateway, '/login', text));
  }
  await keep('too large', call({ body: { a: secret('body').repeat(5_000) } }));
  await keep('unknown adapter', relay(gateway, 'restQuery', 'unknown', relayed));
  for (const path of [`/../${secret('path')}`, `http://u:${secret('path')}@x/`, `a#${secret('path')}`])
    await keep('no path', relay(gateway, 'restQuery', 'basic', { params: { ...params, path } }));
});

test('R93: callers with credentials of every kind, right and wrong, get their replies', { timeout: 60_000 }, async () => {
  const send = (target: string, headers: Readonly<Record<string, string>>): Promise<Reply> => gateway.send({ target, headers });
  const password = secret('login password');
  const login = await post(gateway, '/login', { username: 'ann', password });
  const { token } = login.json() as { readonly token: string };
  const form = (fields: Record<string, string>): Promise<Reply> =>
    gateway.send({
      method: 'POST',
      target: '/oauth/token',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'reporting', ...fields }).toString(),
    });
  const issued = (await form({ client_secret: clientSecret })).json() as { readonly access_token: string };
  // The gateway makes these tokens now. The search looks for their signatures, since the rest of a token is no secret.
  for (const [place, value] of Object.entries({
    session: token,
    'client token': issued.access_token,
    'issuer token': await provider.token(),
  })) {
    assert.equal((await send('/whoami', { Authorization: `Bearer ${value}` })).status, 200);
    secret.set(place, value.split('.')[2] ?? '');
    await keep('a token in the query', send(`/whoami?token=${value}`, {}));
    await keep('a token in the query', send(`/whoami?token=${value}`, { Authorization: `Bearer ${value}` }));
    await keep('a forged token', send('/whoami', { Authorization: `Bearer ${value}x` }));
    await keep('a cookie', send('/whoami', { Cookie: `a=${secret('cookie')}; orchestration_gateway_session=${value}` }));
    await keep('a path', send(`/${value}/${secret('uri path')}`, {}));
  }
  for (const wrong of ['wrong password', 'password as a name']) {
    const name = wrong === 'wrong password' ? 'ann' : secret(wrong);
    await keep(wrong, post(gateway, '/login', { username: name, password: secret(wrong) }));
    await keep(wrong, send('/whoami', { Authorization: basic(name, secret(wrong)) }));
    await keep(wrong, form({ client_id: name, client_secret: secret(wrong) }));
  }
  await keep('right Basic', send('/whoami', { Authorization: basic('ann', password) }));
  for (const value of [
    `Digest ${secret('authorization')}`,
    `Bearer ${secret('authorization')}`,
    secret('authorization'),
    `Basic ${secret('authorization')}`,
  ])
    await keep('another scheme', send('/whoami', { Authorization: value }));
  await keep('a logout', gateway.send({ method: 'POST', target: '/logout', headers: { Authorization: `Bearer ${token}` } }));
});

/** Headers with the upstream's own text, which may repeat what the caller sent. */
const headersOfUpstream = /^X-Upstream-(?:Location|Uri): .*$/gim;

test('R93: no reply of the gateway holds a secret, except in relayed parts', () => {
  assert.ok(replies.length > 200, `${replies.length} replies`);
  for (const { what, reply, meant } of replies) {
    const head = reply.head.replaceAll(headersOfUpstream, '');
    const notMeant = secret.places.filter((place) => !meant.includes(place));
    assert.deepEqual(
      secret.foundIn(`${head}\n${reply.text}`, notMeant),
      [],
      `${what}: ${reply.head}\n${reply.text.slice(0, 1_000)}`,
    );
    // Nothing that an upstream sent is in a header of the gateway.
    assert.deepEqual(secret.foundIn(head, sentByUpstream), [], `${what}: ${reply.head}`);
  }
});

test('R93: X-Upstream-Uri and X-Upstream-Location show the caller the last URI, with the secrets of its own URI', async () => {
  far.answer((request) =>
    request.target.includes('end')
      ? jsonReply('{}', { status: 201, headers: { Location: `/made/${secret('location')}` } })
      : httpReply({ status: 302, headers: { Location: `/end?key=${secret('uri query')}` } }),
  );
  const reply = await restCall(gateway, { ...carried, uri: far.url });
  assert.equal(reply.header('x-upstream-uri'), `${far.url}/end?key=${secret('uri query')}`);
  assert.equal(reply.header('x-upstream-location'), `/made/${secret('location')}`);
});

test('R93: no secret is in the log at level trace, except in paths of orchestrators, nor in metrics and documentation', async () => {
  const token = await gateway.tokenFor('admin');
  for (const target of ['/metrics', '/healthz', '/readyz', '/openapi.json', '/console/api']) {
    const reply = await gateway.send({ target, headers: { Authorization: `Bearer ${token}` } });
    assert.equal(reply.status, 200);
    assert.deepEqual(secret.foundIn(`${reply.head}\n${reply.text}`), [], target);
  }
  assert.ok(gateway.stderr.length > 200, `${gateway.stderr.length} lines`);
  assert.ok(gateway.stderr.some((line) => line.includes('"code":"outcome-unknown"')));
  // The line of a failed call has the orchestrator's path, which is no place for a secret.
  const notMeant = secret.places.filter((place) => place !== 'path');
  for (const line of [...gateway.stderr, ...gateway.stdout]) assert.deepEqual(secret.foundIn(line, notMeant), [], line);
  assert.ok(gateway.stderr.some((line) => secret.foundIn(line, ['path']).length > 0));
  assert.ok(!gateway.stderr.some((line) => line.includes(testPassword)));
});

/** The audit log has the path of a call and the destination of a redirected change; of a query string it has the names alone. */
const onRecord: readonly string[] = ['uri path', 'path', 'location'];

test('R93: no secret of a caller or an upstream is in the store, except in the recorded paths', async () => {
  await gateway.stop('SIGTERM');
  assert.deepEqual(
    secret.foundIn(textOfStore(gateway.directory)).filter((place) => !onRecord.includes(place)),
    [],
  );
  // The search finds a secret that is there.
  writeFileSync(join(gateway.directory, 'gateway.db-test'), `x${secret('password')}x`);
  assert.ok(secret.foundIn(textOfStore(gateway.directory)).includes('password'));
});
