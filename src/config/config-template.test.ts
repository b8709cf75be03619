import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isMap, isSeq, parseDocument } from 'yaml';
import { configKeys } from '../../tools/docs/config-keys.ts';
import { loadConfig } from './load-config.ts';

const exampleFile = new URL('../../gateway.example.yaml', import.meta.url);
const example = await readFile(exampleFile, 'utf8');
const exampleHash = /passwordHash: '(\$argon2id[^']+)'/u.exec(example)?.[1] ?? '';

/** The template with every setting uncommented. */
const everything = example.replaceAll(/^#(?! \S|$|\n)/gmu, '').replaceAll('$argon2id$v=19$...', exampleHash);

test('gateway.example.yaml loads unchanged and without a warning', async () => {
  const { warnings } = await loadConfig({ file: exampleFile.pathname, env: {}, cwd: '/' });
  assert.deepEqual(warnings, []);
});

test('each value that the template shows for a setting with a default is that default', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'config-'));
  t.after(() => rm(cwd, { recursive: true, force: true }));
  // Uncommenting these lines must not change the configuration.
  const defaults = example.replaceAll(
    /^#(?=audit:|automations:|outbound:| {2}(?:requestBodyLimit|openMetrics|console|trustedProxies|drain|logLevel|tokenLifetime|allow|deny|timeouts|responseLimit|redirects|retention|tasks|groupRoles|persons|blocked):)/gmu,
    '',
  );
  assert.notEqual(defaults, example);
  await writeFile(join(cwd, 'a.yaml'), example);
  await writeFile(join(cwd, 'b.yaml'), defaults);
  const load = (file: string) => loadConfig({ file, env: {}, cwd });
  assert.deepEqual((await load('b.yaml')).config, (await load('a.yaml')).config);
});

test('the template loads with every setting uncommented', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'config-'));
  t.after(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, 'gateway.yaml'), everything);
  for (const name of ['cert.pem', 'ca.pem', 'client.pem']) {
    await copyFile(new URL('shapes/fixtures/test-only-certificate.pem', import.meta.url), join(cwd, name));
  }
  for (const name of ['key.pem', 'client.key'])
    await copyFile(new URL('shapes/fixtures/test-only-key.pem', import.meta.url), join(cwd, name));
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(join(cwd, 'nso-assertion.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const env = {
    AUDIT_KEY: 'x'.repeat(32),
    NSO_PASSWORD: 'x',
    TICKET_TOKEN: 'x',
    VAULT_SECRET_ID: 'x',
    PROXY_PASSWORD: 'x',
    API_TOKEN: 'x',
    CONSOLE_CLIENT_SECRET: 'x',
    PAGER_KEY: 'x',
    WEBHOOK_SECRET: `whsec_${'x'.repeat(32)}`,
  };
  await loadConfig({ file: 'gateway.yaml', env, cwd });
});

test('the template has every key of the schema, and no other', () => {
  const written = new Set<string>();
  const visit = (node: unknown, path: string): void => {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        const at = path === '' ? String(key) : `${path}.${String(key)}`;
        written.add(at);
        visit(value, at);
      }
    }
    if (isSeq(node)) for (const item of node.items) visit(item, `${path}[]`);
  };
  visit(parseDocument(everything).contents, '');
  const named = 'automations.secrets.ticketToken';
  for (const path of [...written].filter((one) => one.startsWith(named))) {
    written.delete(path);
    if (path !== named) written.add(path.replace(named, 'automations.secrets.NAME'));
  }
  // Its keys are those of `auth`.
  for (const path of written) if (path.startsWith('adapters[].auth.service.')) written.delete(path);
  // Names that the operator chooses.
  written.delete('adapters[].auth.userClaims.https://login.example.net/realms/network');
  written.delete('notifications[].headers.Authorization');
  // One of three forms.
  for (const path of written) if (path.startsWith('vault.auth.')) written.delete(path);
  for (const path of written) if (path.endsWith('.env') || path.endsWith('.file')) written.delete(path);
  assert.deepEqual([...written].sort(), [...new Set(configKeys().map(({ path }) => path))].sort());
});
