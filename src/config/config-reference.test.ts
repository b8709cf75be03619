import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type ConfigKey, configKeys } from '../../test/support/gateway/config-keys.ts';

const expectedKeys = [
  ...members('', 'server', 'store', 'access', 'outbound', 'adapters', 'audit', 'automations', 'approvals', 'notifications'),
  ...members(
    'server',
    'host',
    'port',
    'tls',
    'requestBodyLimit',
    'openMetrics',
    'console',
    'trustedProxies',
    'publicUrl',
    'rateLimit',
    'logLevel',
  ),
  ...members('server.tls', 'certFile', 'keyFile'),
  ...members('server.rateLimit', 'calls', 'per'),
  ...members('store', 'url'),
  ...members('access', 'tokenLifetime', 'users', 'clients', 'oidc', 'roles', 'groupRoles', 'persons', 'blocked'),
  ...members('access.users[]', 'username', 'passwordHash', 'roles', 'groups'),
  ...members('access.clients[]', 'clientId', 'secretHash', 'roles', 'groups', 'tokenLifetime'),
  ...members('access.oidc[]', 'issuer', 'audience', 'rolesClaim', 'groupsClaim', 'algorithms', 'remember', 'consoleClientId'),
  ...members('access.oidc[]', 'groupNames', 'consoleClientSecret'),
  ...members('access.roles[]', 'name', 'allows'),
  ...members('access.roles[].allows[]', 'routes', 'adapters', 'paths', 'methods'),
  ...members('access.roles[].allows[]', 'destinations', 'workflows', 'via'),
  ...members('outbound', 'allow', 'deny', 'timeouts', 'responseLimit', 'redirects', 'tls', 'proxy'),
  ...['outbound', 'adapters[]'].flatMap((parent) => [
    ...members(`${parent}.timeouts`, 'dns', 'connect', 'firstByte', 'idle', 'total'),
    ...members(`${parent}.tls`, 'caFile', 'certFile', 'keyFile'),
    ...members(`${parent}.proxy`, 'url', 'username', 'password', 'resolves'),
  ]),
  ...members('adapters[]', 'name', 'kind', 'url', 'urls', 'auth', 'timeouts', 'responseLimit', 'concurrency', 'queue', 'health'),
  ...members('adapters[]', 'breaker', 'allowPaths', 'denyPaths', 'readActions', 'tls', 'proxy'),
  ...members('adapters[].auth', 'type', 'username', 'password', 'token', 'name', 'value'),
  ...members('adapters[].auth', 'tokenUrl', 'clientId', 'clientSecret', 'scope'),
  ...members('adapters[].health', 'interval'),
  ...members('adapters[].breaker', 'failures', 'openFor'),
  ...members('adapters[].allowPaths', 'actions', 'queries'),
  ...members('adapters[].denyPaths', 'actions', 'queries'),
  ...members('adapters[].tls', 'serverName', 'verify'),
  ...members('audit', 'retention', 'maxSize', 'checkpointFile', 'key'),
  ...members('automations', 'tasks', 'retention', 'storePerPerson', 'secrets'),
  ...members('automations.secrets.NAME', 'value', 'workflows', 'writers', 'destinations', 'adapters', 'places'),
  ...members('automations.secrets.NAME.writers', 'roles', 'groups'),
  ...members('approvals[]', 'name', 'when', 'approvers', 'count', 'selfApproval', 'expires'),
  ...members('approvals[].when', 'routes', 'adapters', 'paths', 'methods', 'roles', 'via', 'from', 'until'),
  ...members('approvals[].approvers', 'roles', 'groups'),
  ...members('notifications[]', 'url', 'events', 'secret'),
];

function members(parent: string, ...keys: readonly string[]): readonly string[] {
  return keys.map((key) => (parent === '' ? key : `${parent}.${key}`));
}

test('the schema has exactly the expected keys', () => {
  assert.deepEqual([...new Set(configKeys().map(({ path }) => path))].sort(), expectedKeys.toSorted());
});

test('docs/reference/configuration.md lists every key with its type, default and meaning, and no other', async () => {
  const page = await readFile(new URL('../../docs/reference/configuration.md', import.meta.url), 'utf8');
  const documented = page.split('\n').filter((line) => line.startsWith('| `'));
  assert.deepEqual(documented, configKeys().map(row));
});

function row({ path, only, type, default: standard, meaning }: ConfigKey): string {
  const value = standard === 'required' || standard === '–' ? standard : `\`${standard}\``;
  return `| \`${path}\`${only === undefined ? '' : ` (${only})`} | ${type} | ${value} | ${meaning} |`;
}
