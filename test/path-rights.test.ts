import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, relay } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// The pattern of docs/reference/configuration.md for packages/reload: it denies that action under every name, and nothing else.

const far = await upstream({ after });
const common = { kind: 'nso', url: far.url, auth: { type: 'none' } };
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { ...common, name: 'guarded', denyPaths: { actions: ['**/*packages/**/*reload/**', '**/jsonrpc/**'] } },
      { ...common, name: 'narrow', allowPaths: { actions: ['restconf/data/*devices/**'], queries: [] } },
      { ...common, name: 'based', url: `${far.url}/restconf`, denyPaths: { actions: ['operations/x'] } },
    ],
  },
);
const accept = 'application/yang-data+json';

/** Calls the path by each route that is an action; answers `sent` or the code of the refusal, for each. */
async function calls(adapter: string, path: string): Promise<readonly string[]> {
  far.answer(() => jsonReply('{}'));
  const replies = [await relay(gateway, 'restAction', adapter, { params: { path, accept }, body: {} })];
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    replies.push(await relay(gateway, 'restRequest', adapter, { params: { path, accept, method }, body: {} }));
  return replies.map((reply) => (reply.status < 400 ? 'sent' : assertProblem(reply, reply.status).code));
}

const refused = Array.from({ length: 5 }, () => 'path-denied');
const sent = Array.from({ length: 5 }, () => 'sent');

const names = [
  'restconf/operations/tailf-ncs:packages/reload',
  'restconf/operations/tailf-ncs:packages/tailf-ncs:reload',
  'restconf/operations/packages/reload',
  'restconf/data/tailf-ncs:packages/reload',
  '/restconf/data/tailf-ncs:packages/tailf-ncs:reload',
  'tailf-ncs:packages/reload',
  'packages/reload',
  'api/running/packages/_operations/reload',
  '/api/operations/packages/reload',
  'other-root/data/ncs:packages/reload',
];

for (const name of names) {
  test(`packages/reload is denied as ${name}`, async () => {
    assert.deepEqual(await calls('guarded', name), refused);
    assert.equal(far.connections, 0);
  });
}

const spellings: readonly (readonly [string, (path: string) => string])[] = [
  ['with an encoded letter', (path) => path.replace('reload', '%72eload')],
  ['with letters encoded in lower and upper case', (path) => path.replace('load', '%6Co%61d').replace('kages', '%6bages')],
  ['with a letter encoded twice', (path) => path.replace('reload', '%2572eload')],
  ['with a letter encoded six times over', (path) => path.replace('reload', '%252525252572eload')],
  ['with an encoded slash', (path) => path.replace('/reload', '%2Freload')],
  ['with a slash encoded twice', (path) => path.replace('/reload', '%252freload')],
  ['with an encoded colon', (path) => path.replace('/packages', '/tailf-ncs%3Apackages')],
  ['with an overlong slash', (path) => path.replace('/reload', '%c0%afreload')],
  ['with an overlong letter', (path) => path.replace('reload', '%c1%b2eload')],
  ['with an overlong letter of three bytes', (path) => path.replace('reload', '%e0%81%b2eload')],
  ['with empty segments', (path) => path.replaceAll('/', '//').replace(/^\/+/, '/')],
  ['with dot segments', (path) => path.replaceAll('/', '/./')],
  ['with encoded dot segments', (path) => path.replaceAll('/', '/%2e/')],
  ['with a slash at its end', (path) => `${path}/`],
  ['with slashes and dots at its end', (path) => `${path}//./`],
  ['with parameters in a segment', (path) => path.replace('packages/', 'packages;v=1/')],
  ['with parameters at its end', (path) => `${path};a=b`],
  ['with a segment of parameters', (path) => path.replace('/reload', '/;x/reload')],
  ['with encoded parameters', (path) => `${path}%3Ba`],
  ['with a query', (path) => `${path}?unhide=all`],
  ['with an empty query', (path) => `${path}?`],
  ['with an encoded question mark', (path) => `${path}%3Fx`],
  ['with an encoded hash', (path) => `${path}%23x`],
  ['with an encoded NUL', (path) => `${path}%00.json`],
  ['with an encoded backslash', (path) => path.replace('/reload', '%5creload')],
];

for (const [what, spell] of spellings) {
  test(`packages/reload is denied ${what}`, async () => {
    for (const name of ['restconf/operations/tailf-ncs:packages/reload', 'restconf/data/packages/reload']) {
      const path = spell(name);
      assert.deepEqual(await calls('guarded', path), refused, path);
      assert.equal(far.connections, 0);
    }
  });
}

test('a path with a .. segment is 400', async () => {
  for (const path of ['packages/x/../reload', 'packages/x/%2e%2e/reload', 'packages/x/..;a/reload', 'packages/x/.%252e/reload']) {
    const reply = await relay(gateway, 'restAction', 'guarded', { params: { path, accept }, body: {} });
    assertProblem(reply, 400, 'invalid-request');
  }
});

test('a refusal names the adapter instance and the rule', async () => {
  const reply = await relay(gateway, 'restAction', 'guarded', { params: { path: 'packages/reload', accept }, body: {} });
  const { detail } = assertProblem(reply, 403, 'path-denied');
  assert.match(detail, /"guarded".*denyPaths\.actions has "\*\*\/\*packages\/\*\*\/\*reload\/\*\*"/);
});

for (const path of [
  'restconf/operations/tailf-ncs:packages/package=x/redeploy',
  'restconf/operations/tailf-ncs:devices/sync-from',
  'restconf/data/tailf-ncs:devices/device=reload/sync-from',
  'restconf/data/x:packages-reload',
  'restconf/data/tailf-ncs:devices/device=10.0.0.0%2F24;a',
  // Paths are case-sensitive: these are other resources, which the orchestrator does not have.
  'restconf/operations/tailf-ncs:packages/Reload',
  'restconf/operations/tailf-ncs:PACKAGES/reload',
]) {
  test(`a path that no rule denies is sent as written: ${path}`, async () => {
    assert.deepEqual(await calls('guarded', path), sent);
    assert.deepEqual([...new Set(far.requests.map(({ target }) => target))], [`/${path}`]);
  });
}

test('a rule for actions does not deny queries, by either route', async () => {
  far.answer(() => jsonReply('{}'));
  const path = 'restconf/data/tailf-ncs:packages/reload';
  assert.equal((await relay(gateway, 'restQuery', 'guarded', { params: { path, accept } })).status, 200);
  const request = { params: { path, accept, method: 'GET' } };
  assert.equal((await relay(gateway, 'restRequest', 'guarded', request)).status, 200);
});

test('allowPaths denies every other path, and every other spelling of an allowed one', async () => {
  assert.deepEqual(await calls('narrow', 'restconf/data/tailf-ncs:devices/device=ce0/sync-from'), sent);
  for (const path of [
    'restconf/data/tailf-ncs:packages/reload',
    'restconf/operations/devices/sync-from',
    'restconf/data/devices',
    'restconf%2Fdata%2Fdevices%2Fx',
    'restconf/data/;devices/x',
    'restconf/data/packages%3Fdevices/x',
    'restconf/data/packages;devices/x',
  ]) {
    const expected = path.endsWith('data/devices') ? sent : refused;
    assert.deepEqual(await calls('narrow', path), expected, path);
  }
  far.answer(() => jsonReply('{}'));
  const query = { params: { path: 'restconf/data/devices/x', accept } };
  assertProblem(await relay(gateway, 'restQuery', 'narrow', query), 403, 'path-denied');
});

test('a rule matches the path of the caller, without the path of the adapter url', async () => {
  assert.deepEqual(await calls('based', '/operations/x'), refused);
  assert.deepEqual(await calls('based', 'operations/y'), sent);
});
