import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { command } from './support/gateway/command.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { configurationOf, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { plantSecrets } from './support/planted-secrets.ts';
import { closedPort } from './support/upstreams/upstream.ts';

// Row 93 of docs/security.md, before the first call: the errors of a faulty configuration show no secret.

const secret = plantSecrets();

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-secrets-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Each has a fault of its own, and a secret where an operator may write one. No fault is in `auth.type`, which errors quote. */
const wrongAdapters: readonly object[] = [
  { auth: { type: 'basic', username: 'u', password: [secret('password')] } },
  { auth: { type: 'basic', username: 'u', password: { value: secret('password') } } },
  { auth: { type: 'bearer', token: 't', tokens: secret('token') } },
  { auth: { type: 'none', token: secret('token') } },
  { auth: { type: 'bearer', token: `${secret('token')}\nx` } },
  { auth: { type: 'header', name: 'X-A', value: `${secret('header')}ü` } },
  { auth: { type: 'bearer', token: { env: `${secret('variable')} ` } } },
  { auth: secret('token') },
  { url: `http://u:${secret('password')}@127.0.0.1/` },
  { url: `http://127.0.0.1/?token=${secret('query')}` },
  { proxy: { url: `http://u:${secret('password')}@127.0.0.1:1` } },
  { proxy: { url: 'http://127.0.0.1:1', username: 'u', password: 5, passwort: secret('password') } },
];
const wrongUsers: readonly object[] = [
  { passwordHash: secret('password') },
  { passwordHash: `$argon2id$v=19$m=8,t=1,p=1$${secret('salt')}$${secret('hash')}` },
  { passwordHash: 'x', password: secret('password') },
];
const wrongClients: readonly object[] = [{ clientSecret: secret('client secret') }, { secretHash: secret('client secret') }];
const wrongIssuers: readonly object[] = [
  { consoleClientId: 'c', consoleClientSecret: { value: secret('console') } },
  { consoleClientSecret: secret('console') },
  { groupNames: { [`${secret('group')}\n`]: 'noc' } },
];
const wrongStores = [
  `mysql://u:${secret('password')}@127.0.0.1/db`,
  `postgres://u:${secret('password')}@[broken/db`,
  secret('store'),
];

test('R93: no problem of a configuration shows a secret, by check-config or by serve', { timeout: 60_000 }, async (t) => {
  const file = join(directoryOf(t), 'gateway.yaml');
  for (const [at, url] of wrongStores.entries()) {
    const config = {
      ...configurationOf({}),
      store: { url },
      access: {
        users: wrongUsers.map((more, index) => ({ username: `u${index}`, roles: ['admin'], ...more })),
        clients: wrongClients.map((more, index) => ({ clientId: `c${index}`, roles: [], ...more })),
        oidc: wrongIssuers.map((more, index) => ({ issuer: `https://i${index}`, audience: 'a', ...more })),
      },
      adapters: wrongAdapters.map((more, index) => ({ name: `a${index}`, kind: 'rest', url: 'http://127.0.0.1:1', ...more })),
    };
    writeFileSync(file, JSON.stringify(config, undefined, 2));
    const { code, stdout, stderr } = await command(at === 0 ? ['serve', '--config', file] : ['check-config', file]);
    assert.notEqual(code, 0);
    // Every fault is reported, not the first alone.
    for (const place of [
      ...wrongUsers.map((_, index) => `access.users[${index}]`),
      ...wrongClients.map((_, index) => `access.clients[${index}]`),
      ...wrongIssuers.map((_, index) => `access.oidc[${index}]`),
      ...wrongAdapters.map((_, index) => `adapters[${index}]`),
      'store.url',
    ])
      assert.ok(stderr.includes(place), `${place} was accepted:\n${stderr}`);
    assert.deepEqual(secret.foundIn(stdout + stderr), [], stderr);
  }
});

test('R93: the errors of text that is not YAML, and of files that are not PEM, show none of the text', async (t) => {
  const directory = directoryOf(t);
  const file = join(directory, 'gateway.yaml');
  const pem = join(directory, 'key.pem');
  writeFileSync(pem, `-----BEGIN PRIVATE KEY-----\n${secret('key')}\n-----END PRIVATE KEY-----\n`);
  for (const text of [
    `access:\n  users:\n    - passwordHash: "${secret('password')}\n`,
    `access: { users: [ { password: ${secret('password')} ]\n`,
    `${secret('password')}\n`,
    `access: !${secret('tag')} x\n`,
    `access:\n  token: ${secret('token')}\n  token: ${secret('token')}\n`,
    `access: &a [*${secret('alias')}]\n`,
    JSON.stringify({ ...configurationOf({}), server: { tls: { certFile: pem, keyFile: pem } } }),
  ]) {
    writeFileSync(file, text);
    const { code, out, err } = await runCommandLine(t, ['check-config', file]);
    assert.notEqual(code, 0, text);
    // A tag and an alias are syntax; an error names them so that an operator finds them.
    const shown = secret.foundIn(out + err).filter((place) => place !== 'tag' && place !== 'alias');
    assert.deepEqual(shown, [], err);
  }
});

test('R93: the error of an unreachable store does not show the password of its URL', async (t) => {
  const directory = directoryOf(t);
  const file = join(directory, 'gateway.yaml');
  const url = `postgres://u:${secret('store password')}@127.0.0.1:${await closedPort()}/db`;
  writeFileSync(file, JSON.stringify({ ...configurationOf({}), store: { url, startTimeout: '1s' } }));
  const { code, stdout, stderr } = await command(['serve', '--config', file]);
  assert.equal(code, 1);
  assert.match(stderr, /waits for it.*store/su);
  assert.deepEqual(secret.foundIn(stdout + stderr), [], stderr);
});

test('R93: the warnings about secrets in the configuration file name the key, not the secret', async (t) => {
  const gateway = await startGatewayProcess(t, {
    config: { server: { logLevel: 'trace' } },
    adapters: [
      {
        name: 'a',
        kind: 'rest',
        url: 'http://127.0.0.1:1',
        auth: { type: 'basic', username: 'u', password: secret('password') },
      },
      { name: 'b', kind: 'rest', url: 'http://127.0.0.1:1', auth: { type: 'header', name: 'X-A', value: secret('header') } },
    ],
  });
  assert.ok(gateway.stderr.some((line) => line.includes('adapters[0].auth.password')));
  assert.deepEqual(secret.foundIn([...gateway.stderr, ...gateway.stdout].join('\n')), []);
  assert.equal(await gateway.stop(), 0);
});

test('R93: hash-password prints a hash and nothing of the password; the file that init writes does not hold its password', async (t) => {
  const directory = directoryOf(t);
  const hashed = await command(['hash-password'], { input: `${secret('password')}\n` });
  assert.equal(hashed.code, 0, hashed.stderr);
  assert.deepEqual(secret.foundIn(hashed.stdout + hashed.stderr), []);
  const made = await command(['init'], { directory });
  assert.equal(made.code, 0, made.stderr);
  const file = readFileSync(join(directory, 'gateway.yaml'), 'utf8');
  const shown = /^ *password +(\S{12,})$/mu.exec(`${made.stdout}\n${made.stderr}`)?.[1];
  assert.ok(shown !== undefined, made.stdout + made.stderr);
  assert.ok(!file.includes(shown));
});
