// suite: waiting

import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { assertProblem, instancesOf, post, relay, resultOf } from './support/callers/calls.ts';
import { LoginBrowser } from './support/callers/login-browser.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { secretConfig } from './support/runs/sealed-secret.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { connectProxy } from './support/upstreams/connect-proxy.ts';
import { audience } from './support/upstreams/identity-provider.ts';
import { consoleClientId, loginProvider } from './support/upstreams/login-provider.ts';
import { type FarRequest, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Section 27 of the contract, for secrets other than passwords of adapter instances. The far side refuses the value, and the gateway reads the
// source again. Then it asks again, or has the new value for the next time. Programs that run once a day are sources that the gateway
// reads only after a refusal.

const names = ['proxy', 'client', 'header', 'login', 'form', 'rsa', 'basic', 'locked', 'vault', 'ticket', 'order'] as const;
type Name = (typeof names)[number];

const [former, latter] = [
  generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  generateKeyPairSync('rsa', { modulusLength: 2_048 }),
];
const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' });
const signing = (fill: number): string => `whsec_${Buffer.alloc(32, fill).toString('base64')}`;
const keyed = new Set<Name>(['rsa', 'basic', 'locked']);
const files = new Map(
  names.map((name) => [name, temporaryFile({ after }, name, keyed.has(name) ? pem(former.privateKey) : 'one')]),
);
const signingFile = temporaryFile({ after }, 'signing', signing(1));
const quiet = (file: string | undefined): object => ({ exec: ['/bin/cat', file], ttl: '1d' });
const sourceOf = (name: Name): object => quiet(files.get(name));
const rotate = (name: Name, value = 'two'): void => writeFileSync(files.get(name) ?? '', value);

const far = await upstream({ after });
const proxy = await connectProxy({ after }, { credentials: 'gw:two' });
const [byBasic, byForm] = [
  await loginProvider({ after }, { secret: 'two' }),
  await loginProvider({ after }, { secret: 'two', discovery: { token_endpoint_auth_methods_supported: ['client_secret_post'] } }),
];

/** Signed with this key, the assertion of the request. */
function isSignedBy(request: FarRequest, key: KeyObject): boolean {
  const [, basic = ''] = /^Basic (.+)$/u.exec(request.header('authorization') ?? '') ?? [];
  const password = Buffer.from(basic, 'base64')
    .toString()
    .replace(/^[^:]*:/u, '');
  const [head = '', claims = '', signature = ''] = (request.header('x-auth-token') ?? password).split('.');
  return verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'));
}

/** A token endpoint for one client, a receiver of events, and an orchestrator that takes new keys and tokens alone. */
function answer(request: FarRequest): Buffer {
  const [, place = ''] = request.target.split('/');
  const isRight = (wanted: string): boolean =>
    request.header('authorization') === `Basic ${Buffer.from(wanted).toString('base64')}`;
  if (place === 'token')
    return isRight('gw:two') ? jsonReply('{"access_token":"t","token_type":"bearer"}') : httpReply({ status: 401 });
  if (place === 'api') return request.header('authorization') === 'Bearer two' ? jsonReply('{}') : httpReply({ status: 401 });
  if (place === 'hook') return httpReply({ status: request.header('x-key') === 'two' && isSigned(request, 2) ? 204 : 401 });
  if (place === 'client') return httpReply({ status: request.header('authorization') === 'Bearer t' ? 204 : 401 });
  if (place === 'locked') return httpReply({ status: 401 });
  if (place === 'rsa' || place === 'basic')
    return isSignedBy(request, latter.publicKey) ? jsonReply('{"a":1}') : httpReply({ status: 401 });
  return jsonReply('{"a":1}');
}

function isSigned(request: FarRequest, fill: number): boolean {
  const signed = `${request.header('webhook-id')}.${request.header('webhook-timestamp')}.${request.body.toString()}`;
  return (
    request.header('webhook-signature') === `v1,${createHmac('sha256', Buffer.alloc(32, fill)).update(signed).digest('base64')}`
  );
}

far.answer(answer);
const caller = (name: Name, carrier: string) => ({
  name,
  kind: 'nso',
  url: `${far.url}/${name}`,
  auth: { type: 'caller', carrier, key: sourceOf(name) },
});
const adapters = [
  {
    name: 'proxy',
    kind: 'rest',
    url: `${far.url}/proxy`,
    proxy: { url: proxy.url, username: 'gw', password: sourceOf('proxy') },
  },
  {
    name: 'client',
    kind: 'rest',
    url: `${far.url}/client`,
    auth: { type: 'oauth2', tokenUrl: `${far.url}/token`, clientId: 'gw', clientSecret: sourceOf('client') },
  },
  caller('rsa', 'token'),
  caller('basic', 'basic'),
  caller('locked', 'token'),
  { name: 'away', kind: 'rest', url: 'http://127.0.0.1:1', health: { interval: '1s' } },
];
const sealed = (name: Name): object => secretConfig(sourceOf(name), { destinations: [`${far.url}/api/`] });
const client = { audience, consoleClientId };
const configured = (vault: object = {}) => ({
  adapters,
  config: {
    access: {
      oidc: [
        { issuer: byBasic.issuer, ...client, consoleClientSecret: sourceOf('login') },
        { issuer: byForm.issuer, ...client, consoleClientSecret: sourceOf('form') },
      ],
    },
    notifications: [
      {
        url: `${far.url}/hook`,
        secret: quiet(signingFile),
        headers: { 'X-Key': sourceOf('header') },
        events: ['orchestration-gateway.adapter.*.v1'],
      },
    ],
    outbound: { allow: [far.authority] },
    automations: { secrets: { ticket: sealed('ticket'), order: sealed('order') } },
    vault: { url: far.url, auth: { token: { value: { file: files.get('vault') } } }, ...vault },
  },
});
const gateway = await startGateway({ after }, configured());
// Before the adapter instance `away` has its first event.
rotate('header');
writeFileSync(signingFile, signing(2));
const isBuilt = (await gateway.send({ target: '/console' })).status === 200;
const skip = isBuilt || process.env['CI'] === 'true' ? false : 'the console is not built: npm run build:console';

const params = { path: 'restconf/data/x', accept: 'application/yang-data+json' };
const query = (name: Name) => relay(gateway, 'restQuery', name, { params });
const action = (name: Name) => relay(gateway, 'restAction', name, { params, body: { a: 1 } });
const sentTo = (name: Name) => far.requests.filter(({ target }) => target.startsWith(`/${name}/restconf/data`));

test('a proxy that refuses the former password gets the new one, and the action leaves once', async () => {
  rotate('proxy');
  resultOf(await action('proxy'));
  assert.deepEqual(
    proxy.tunnels.map(({ credentials }) => credentials),
    ['gw:one', 'gw:two'],
  );
  assert.equal(far.requests.filter(({ target }) => target.startsWith('/proxy')).length, 1);
});

test('a token endpoint that refuses the former secret gets the new one, and the action leaves once', async () => {
  rotate('client');
  assert.equal((await action('client')).status, 200);
  assert.equal(far.requests.filter(({ target }) => target === '/token').length, 2);
  assert.equal(sentTo('client').length, 1);
});

test('a receiver of events that answers 401 gets its next attempt with the new header and the new signature', async () => {
  const hooks = () => far.requests.filter(({ target }) => target === '/hook');
  await until('two attempts arrived', () => hooks().length >= 2);
  const fills = hooks().map((one) => [one.header('x-key'), isSigned(one, 1), isSigned(one, 2)]);
  assert.deepEqual(fills.slice(0, 2), [
    ['one', true, false],
    ['two', false, true],
  ]);
  assert.equal(new Set(hooks().map((one) => one.header('webhook-id'))).size, 1);
  assert.ok(!gateway.stderr.some((line) => line.includes('whsec_')));
});

test('an issuer that refuses the former secret of the console fails one login, and the next one has the new secret', {
  skip,
}, async () => {
  for (const [name, provider] of [
    ['login', byBasic],
    ['form', byForm],
  ] as const) {
    rotate(name);
    const places: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const browser = new LoginBrowser(gateway);
      const back = await provider.logIn(await browser.begin(`?issuer=${encodeURIComponent(provider.issuer)}`));
      places.push((await browser.open(back.pathname + back.search)).header('location') ?? '');
    }
    assert.match(places[0] ?? '', /^\/console\/login\?failure=not-valid/u, name);
    assert.equal(places[1], '/console', name);
  }
});

test('a query of a run with the former value of a secret is sent again with the new one, and a change is not', async () => {
  const runs = runCaller(() => gateway, gateway.basicFor('admin'));
  const begin = async (name: 'order' | 'ticket', method: string) => {
    const endpoint = { uri: `${far.url}/api/${name}`, authentication: { bearer: { token: `\${ $secrets.${name} }` } } };
    const body = method === 'post' ? { body: { a: 1 } } : {};
    const document = { dsl: '1.0.3', namespace: 'crash', name, version: '1.0.0' };
    const tasks = [{ call: { call: 'http', with: { method, endpoint, ...body } } }];
    const target = '/automation_catalog/workflows';
    const stored = await post(gateway, target, { document, use: { secrets: [name] }, do: tasks });
    assert.equal(stored.status, 201, stored.text);
    const made = await post(gateway, '/automation_catalog/automations', { name, data: { workflowId: `crash.${name}` } });
    rotate(name);
    return (made.json() as { readonly _id: string })._id;
  };
  const sent = (name: string) =>
    far.requests.filter(({ target }) => target === `/api/${name}`).map((one) => one.header('authorization'));
  const ticket = await runs.start(await begin('ticket', 'get'));
  assert.equal((await runs.reaches(ticket.id, 'completed', 'faulted')).status, 'completed');
  assert.deepEqual(sent('ticket'), ['Bearer one', 'Bearer two']);
  const order = await begin('order', 'post');
  const failed = await runs.start(order);
  assert.equal((await runs.reaches(failed.id, 'completed', 'faulted')).error?.status, 401);
  assert.deepEqual(sent('order'), ['Bearer one']);
  const second = await runs.start(order);
  assert.equal((await runs.reaches(second.id, 'completed', 'faulted')).status, 'completed');
  assert.deepEqual(sent('order'), ['Bearer one', 'Bearer two']);
});

for (const name of ['rsa', 'basic'] as const)
  test(`an orchestrator that refuses the former key of assertions gets a query again, and an action never (${name})`, async () => {
    for (let count = 0; count < 2; count += 1) {
      assert.equal(assertProblem(await action(name), 502, 'upstream-error').upstream?.status, 401);
      // The first refusal read the former key again.
      if (count === 0) rotate(name, pem(latter.privateKey));
    }
    const { length } = sentTo(name);
    assert.equal(length, 2, 'no action was repeated');
    await until('the source may be read again', async () => (await query(name)).status === 200);
    const queries = sentTo(name).slice(length);
    const last = queries.at(-1);
    assert.ok(last && isSignedBy(last, latter.publicKey));
    assert.ok(queries.slice(0, -1).every((one) => isSignedBy(one, former.publicKey)));
    resultOf(await action(name));
    assert.equal((await query(name)).status, 200);
  });

test('an orchestrator that refuses the only key gets each query once', async () => {
  for (let count = 1; count <= 4; count += 1) {
    assertProblem(await query('locked'), 502, 'upstream-error');
    assert.equal(sentTo('locked').length, count);
  }
});

test('a reload names the section vault where it changed', async () => {
  assert.deepEqual((await reloadWith(gateway, configured())).settings, []);
  const { settings } = await reloadWith(gateway, configured({ namespace: 'network/noc' }));
  assert.deepEqual(settings, ['vault']);
  instancesOf(await query('proxy'));
});
