import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { noLog } from '#base/log.ts';
import { listening } from '../../../test/support/listen.ts';
import { until } from '../../../test/support/until.ts';
import { createAuthority } from '../../../test/support/upstreams/certificate.ts';
import { tokenEndpoint } from '../../../test/support/upstreams/token-endpoint.ts';
import { type FarRequest, jsonReply, upstream } from '../../../test/support/upstreams/upstream.ts';
import { callers, directory, only } from '../load-config.test-support.ts';
import { type LoadedConfig, loadConfig } from '../load-config.ts';
import { SecretSources } from './secret-sources.ts';

// A server of the shape that the API of HashiCorp Vault documents (KV version 2, AppRole, Kubernetes, tokens). No Vault itself runs here.

const far = await upstream({ after });
const endpoint = await tokenEndpoint({ after }, 'client-secret');
const json = (value: unknown, status = 200): Buffer => jsonReply(JSON.stringify(value), { status });
const denied = json({ errors: ['permission denied'] }, 403);

const vault = {
  secretId: 's1',
  lease: 3_600,
  renewable: true,
  value: 'one',
  logins: 0,
  renewals: 0,
  denied: false,
  valid: new Set<string>(),
};
function answer(one: FarRequest): Buffer {
  const path = one.target.replace(/^\/base\/v1\//u, '');
  const body = one.body.length === 0 ? {} : (JSON.parse(one.body.toString()) as Readonly<Record<string, unknown>>);
  const token = one.header('x-vault-token') ?? '';
  const issue = (): Buffer => {
    vault.logins += 1;
    const made = `t${vault.logins}`;
    vault.valid.add(made);
    return json({ auth: { client_token: made, lease_duration: vault.lease, renewable: vault.renewable } });
  };
  if (path === 'auth/approle/login' || path === 'auth/teams/noc/login')
    return body['role_id'] === 'r1' && body['secret_id'] === vault.secretId ? issue() : json({}, 400);
  if (path === 'auth/k8s/login') return body['role'] === 'gw' && body['jwt'] === 'jwt' ? issue() : denied;
  if (!vault.valid.has(token)) return denied;
  if (path === 'auth/token/lookup-self') return json({ data: { ttl: 0, renewable: false } });
  if (path === 'auth/token/renew-self' && one.method === 'POST') {
    vault.renewals += 1;
    return json({ auth: { client_token: token, lease_duration: vault.lease, renewable: true } });
  }
  if (vault.denied) return denied;
  if (/^secret\/data\/noc\/(?:nso|other)$/u.test(path) && one.method === 'GET')
    return json({ data: { data: { password: vault.value, port: 1 }, metadata: { version: 1 } } });
  return json({ errors: [] }, 404);
}

beforeEach(() => {
  Object.assign(vault, {
    secretId: 's1',
    lease: 3_600,
    renewable: true,
    value: 'one',
    logins: 0,
    renewals: 0,
    denied: false,
    valid: new Set(['fixed']),
  });
  far.answer(answer);
});

const appRole = '{ appRole: { roleId: r1, secretId: { file: secret-id } } }';
const config = (auth: string, reference = '{ vault: secret/noc/nso, key: password }', more = ''): string =>
  `${callers}vault: { url: "${far.url}/base", auth: ${auth}${more} }\nadapters: [{ name: A, kind: nso, url: "http://a", auth: { type: basic, username: gw, password: ${reference} } }]`;

async function started(t: TestContext, text: string, files: Readonly<Record<string, string>> = {}) {
  const cwd = await directory(t);
  for (const [name, content] of Object.entries({ 'secret-id': 's1\n', ...files, 'gateway.yaml': text }))
    writeFileSync(join(cwd, name), content);
  const secrets = new SecretSources();
  const again = () => loadConfig({ file: 'gateway.yaml', env: {}, cwd, secrets });
  return { cwd, secrets, again, loaded: await again() };
}

function secretIn({ config: { adapters } }: LoadedConfig) {
  const { auth } = adapters[0] ?? {};
  assert.ok(auth?.type === 'basic');
  return auth.password;
}

test('a vault gives a value by AppRole, with the namespace, and is only read', async (t) => {
  const { loaded } = await started(t, config(appRole, undefined, ', namespace: network/noc'));
  assert.equal(secretIn(loaded).reveal(), 'one');
  assert.ok(far.requests.every((one) => one.header('x-vault-namespace') === 'network/noc'));
  assert.deepEqual(
    far.requests.map(({ method, target }) => `${method} ${target}`),
    ['POST /base/v1/auth/approle/login', 'GET /base/v1/secret/data/noc/nso'],
  );
});

test('a vault gives the address of the store, and has AppRole at another mount', async (t) => {
  vault.value = 'sqlite:./of-the-vault.db';
  const auth = '{ appRole: { roleId: r1, secretId: { file: secret-id }, mount: teams/noc } }';
  const text = `${config(auth)}\nstore: { url: { vault: secret/noc/nso, key: password } }`;
  const { store } = (await started(t, text)).loaded.config;
  assert.match(store.kind === 'sqlite' ? store.file : '', /\/of-the-vault\.db$/u);
  assert.ok(far.requests.some(({ target }) => target === '/base/v1/auth/teams/noc/login'));
});

test('a vault gives a value by the service account of Kubernetes, and by a token', async (t) => {
  const kubernetes = await started(t, config('{ kubernetes: { role: gw, mount: k8s, tokenFile: jwt } }'), { jwt: 'jwt\n' });
  assert.equal(secretIn(kubernetes.loaded).reveal(), 'one');
  const token = await started(t, config('{ token: { value: { file: token } } }'), { token: 'fixed\n' });
  assert.equal(secretIn(token.loaded).reveal(), 'one');
});

test('a vault with a certificate of a private authority is trusted by its caFile alone', async (t) => {
  const [authority, other] = [createAuthority('of the vault'), createAuthority('another')];
  const server = createServer(authority.issue({ names: ['127.0.0.1'] }), (request, response) => {
    response.setHeader('Content-Type', 'application/json');
    const isValue = request.url === '/v1/secret/data/noc/nso' && request.headers['x-vault-token'] === 'fixed';
    response.end(isValue ? '{"data":{"data":{"password":"over TLS"}}}' : '{"data":{"ttl":0,"renewable":false}}');
  });
  server.on('tlsClientError', () => undefined);
  const port = await listening(server);
  t.after(() => server.close());
  const text = (more: string): string =>
    config('{ token: { value: { file: token } } }', undefined, more).replace(`${far.url}/base`, `https://127.0.0.1:${port}`);
  const files = { token: 'fixed\n', 'ca.pem': authority.cert, 'other.pem': other.cert };
  assert.equal(secretIn((await started(t, text(', caFile: ca.pem'), files)).loaded).reveal(), 'over TLS');
  for (const more of ['', ', caFile: other.pem'])
    await only(t, text(more), /password\.vault: the vault 127\.0\.0\.1:\d+ could not be asked: .*certificate/u, { files });
});

test('a new value in the vault is there after a refusal, with the same token, and after a revoked token with another', async (t) => {
  const { loaded } = await started(t, config(appRole));
  vault.value = 'two';
  await secretIn(loaded).renew();
  assert.equal(secretIn(loaded).reveal(), 'two');
  assert.equal(vault.logins, 1);
  vault.valid.clear();
  vault.value = 'three';
  const { again } = await started(t, config(appRole));
  assert.equal(secretIn(await again()).reveal(), 'three');
});

test('a vault that denies a path after another login gets one login, and the last good value stays with its age', async (t) => {
  const { loaded, secrets, again } = await started(t, config(appRole));
  vault.denied = true;
  await Promise.all(Array.from({ length: 5 }, () => secretIn(loaded).renew()));
  assert.equal(vault.logins, 2, 'all who ask share it');
  assert.equal(secretIn(loaded).reveal(), 'one');
  const { warnings } = await again();
  assert.match(warnings[0]?.message ?? '', /answered 403 for secret\/noc\/nso; the last good value, \d+ s old/u);
  const state = secrets.states().find(({ name }) => name.startsWith('vault '));
  assert.deepEqual([state?.failing, state?.name], [true, 'vault secret/noc/nso password']);
  assert.ok((state?.age ?? -1) >= 0);
});

test('many secrets of a vault whose token was revoked cause one login', async (t) => {
  const files = { 'secret-id': 's1\n' };
  const reference = '{ vault: secret/noc/nso, key: password }';
  const other = `  - { name: B, kind: nso, url: "http://b", auth: { type: basic, username: gw, password: { vault: secret/noc/other, key: password } } }`;
  const { loaded } = await started(
    t,
    `${config(appRole, reference).replace('adapters: [{', 'adapters:\n  - {').replace(/\]$/u, '')}\n${other}`,
    files,
  );
  assert.equal(vault.logins, 1);
  vault.valid.clear();
  vault.value = 'two';
  const passwords = loaded.config.adapters.flatMap(({ auth }) => (auth?.type === 'basic' ? [auth.password] : []));
  assert.equal(passwords.length, 2);
  await Promise.all(passwords.map((password) => password.renew()));
  assert.deepEqual(
    passwords.map((password) => password.reveal()),
    ['two', 'two'],
  );
  assert.equal(vault.logins, 2);
});

test('the token of a vault is renewed before it ends, in the background', async (t) => {
  vault.lease = 6;
  const { secrets } = await started(t, config(appRole));
  const watching = secrets.watch(noLog);
  t.after(() => watching.close());
  await until('the token is renewed', () => vault.renewals > 0);
});

test('a vault that is away at a reload leaves the last good value, with a warning; at the start it is a problem', async (t) => {
  const { again } = await started(t, config(appRole));
  far.answer(() => json({ errors: ['sealed'] }, 503));
  const { config: reloaded, warnings, secrets } = await again();
  assert.equal(secretIn({ config: reloaded, warnings, secrets }).reveal(), 'one');
  assert.match(
    warnings[0]?.message ?? '',
    /the vault 127\.0\.0\.1:\d+ answered 503 for secret\/noc\/nso; the last good value, \d+ s old/u,
  );
  await only(t, config(appRole), /answered 503 to the login \(auth\.appRole\)$/u, { files: { 'secret-id': 's1' } });
});

test('a problem with a vault names the place and no secret', async (t) => {
  const files = { 'secret-id': 's1' };
  const fails = (text: string, expected: RegExp) => only(t, text, expected, { files });
  await fails(
    config(appRole, '{ vault: secret/noc/none, key: password }'),
    /password\.vault: the vault .* has nothing at secret\/noc\/none$/u,
  );
  await fails(config(appRole, '{ vault: secret/noc/nso, key: port }'), /has no text "port" at secret\/noc\/nso/u);
  await fails(config(appRole, '{ vault: secret/data/noc/nso, key: password }'), /has "data\/" after its mount/u);
  await fails(config(appRole, '{ vault: secret/noc/nso }'), /password\.key: is required and missing/u);
  await fails(config('{ appRole: { roleId: r2, secretId: { file: secret-id } } }'), /answered 400 to the login/u);
  await fails(config('{}'), /vault\.auth: needs exactly one/u);
  await fails(config(appRole).replace(/^vault:.*$/mu, ''), /password\.vault: needs the section vault/u);
});

test('a secret of workflows may be the present access token of a client, which is renewed before it ends', async (t) => {
  endpoint.answer('gw', (fresh) => fresh({ expires_in: 2 }));
  const { tokenUrl } = endpoint.authOf('gw') as { readonly tokenUrl: string };
  const text = `${callers}automations: { secrets: { t: { value: { oauth2: { tokenUrl: "${tokenUrl}", clientId: gw, clientSecret: { file: c } } }, workflows: ["*"], writers: { roles: [admin] }, destinations: ["https://t.example/"] } } }`;
  const { loaded, secrets } = await started(t, text, { c: 'client-secret' });
  const token = loaded.config.automations.secrets['t']?.value;
  assert.equal(token?.reveal(), 'gw.1');
  const watching = secrets.watch(noLog);
  t.after(() => watching.close());
  await until('the token is another one', () => token?.reveal() === 'gw.2');
});
