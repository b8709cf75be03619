import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callDemo } from './demo-client.ts';
import { startDemoOrchestrator } from './demo-orchestrator.ts';
import { isBranch, type SchemaNode } from './model/schema.ts';
import { rootSchema } from './model/yang-modules.ts';

const json = { Accept: 'application/yang-data+json', 'Content-Type': 'application/yang-data+json' };

async function started(t: TestContext) {
  const demo = await startDemoOrchestrator();
  t.after(() => demo.close());
  const post = (path: string, input?: object, headers: Record<string, string> = json) =>
    callDemo(demo.url, {
      method: 'POST',
      path: `/restconf/${path}`,
      headers,
      ...(input === undefined ? {} : { body: JSON.stringify({ input }) }),
    });
  const output = async (path: string, input?: object) => {
    const { status, body } = await post(path, input);
    assert.equal(status, 200, body);
    return Object.values<Record<string, unknown>>(JSON.parse(body))[0] ?? {};
  };
  return { url: demo.url, post, output };
}

const device = (name: string) => `data/tailf-ncs:devices/device=${name}`;

test('an action is the same below /data and /operations, where the module name may be left out', async (t) => {
  const { output } = await started(t);
  for (const place of ['data/tailf-ncs:devices', 'operations/tailf-ncs:devices', 'operations/devices']) {
    assert.deepEqual(await output(`${place}/device=ce0/check-sync`), { result: 'in-sync' });
  }
});

test('a device action replies 200 with result false and a reason where the device is locked or unreachable', async (t) => {
  const { output } = await started(t);
  const cases = [
    ['ce20', 'Device ce20 is locked'],
    ['ce21', 'Device ce21 is southbound locked'],
    ['ce23', 'Failed to connect to device ce23: connection refused'],
  ] as const;
  for (const [name, info] of cases) {
    for (const action of ['sync-from', 'sync-to', 'connect']) {
      assert.deepEqual(await output(`${device(name)}/${action}`), { result: false, info });
    }
    assert.deepEqual(await output(`${device(name)}/compare-config`), { info });
  }
  assert.deepEqual(await output(`${device('ce21')}/check-sync`), { result: 'locked', info: 'Device ce21 is southbound locked' });
  assert.deepEqual(await output(`${device('ce23')}/check-sync`), {
    result: 'error',
    info: 'Failed to connect to device ce23: connection refused',
  });
});

test('compare-config shows the difference, and none after sync-from', async (t) => {
  const { output, post } = await started(t);
  assert.match(String((await output(`${device('ce22')}/check-sync`))['info']), /^got: [0-9a-f]{32} expected: [0-9a-f]{32}$/u);
  assert.match(String((await output(`${device('ce22')}/compare-config`))['diff']), /\+\s+hostname changed-by-hand;/u);
  const dry = await output(`${device('ce22')}/sync-from`, { 'dry-run': { outformat: 'cli' } });
  assert.match(JSON.stringify(dry), /changed-by-hand/u);
  assert.deepEqual(await output(`${device('ce22')}/check-sync`), {
    ...(await output(`${device('ce22')}/check-sync`)),
    result: 'out-of-sync',
  });
  assert.deepEqual(await output(`${device('ce22')}/sync-from`), { result: true });
  assert.deepEqual(await output(`${device('ce22')}/check-sync`), { result: 'in-sync' });
  assert.equal((await post(`${device('ce22')}/compare-config`)).body, '{}\n');
});

test('sync-to writes the configuration of the orchestrator to a device', async (t) => {
  const { output } = await started(t);
  assert.deepEqual(await output(`${device('ex11')}/sync-to`), { result: true });
  assert.deepEqual(await output(`${device('ex11')}/check-sync`), { result: 'in-sync' });
});

test('an action on all devices or a group has a result for each device', async (t) => {
  const { output } = await started(t);
  const all = (await output('data/tailf-ncs:devices/check-sync'))['sync-result'] as { device: string; result: string }[];
  assert.equal(all.length, 50);
  assert.deepEqual(
    all.filter(({ result }) => result === 'out-of-sync').map(({ device }) => device),
    ['ce22', 'pe12', 'ex11'],
  );
  const group = await output('data/tailf-ncs:devices/device-group=branch%2Flab/fetch-ssh-host-keys');
  assert.equal((group['fetch-result'] as unknown[]).length, 12);
  const some = await output('data/tailf-ncs:devices/connect', { device: ['ce0', 'ce20'] });
  assert.deepEqual(some['connect-result'], [
    { device: 'ce0', result: true, info: '(admin) Connected to ce0 - 192.0.2.10:22' },
    { device: 'ce20', result: false, info: 'Device ce20 is locked' },
  ]);
});

test('fetch-ssh-host-keys replies with fingerprints under both of its names', async (t) => {
  const { output } = await started(t);
  const keys = await output(`${device('pe0')}/fetch-ssh-host-keys`);
  assert.equal(keys['result'], 'updated');
  assert.match(JSON.stringify(keys['fingerprint']), /"ssh-ed25519","value":"([0-9a-f]{2}:){15}[0-9a-f]{2}"/u);
  assert.deepEqual(await output(`${device('pe0')}/ssh/fetch-host-keys`), keys);
});

test('re-deploy restores the configuration that a device lost; its dry run shows the change', async (t) => {
  const { output, post } = await started(t);
  const vpn = 'data/l3vpn:vpn/l3vpn=saab%20%26%20sons';
  const modifications = await output(`${vpn}/get-modifications`, { outformat: 'cli' });
  assert.match(JSON.stringify(modifications), /definition saab & sons/u);
  assert.deepEqual(await output(`${vpn}/check-sync`), { 'in-sync': true });
  assert.deepEqual(await output(`${vpn}/re-deploy`, { 'dry-run': { outformat: 'native' } }), { native: {} });
  assert.equal((await post(`${vpn}/un-deploy`)).status, 204);
  assert.deepEqual(await output(`${vpn}/check-sync`), { 'in-sync': false });
  const dry = await output(`${vpn}/re-deploy`, { 'dry-run': { outformat: 'native' } });
  assert.match(JSON.stringify(dry), /vrf definition saab & sons\\n rd 65001:1\\nexit/u);
  const done = await post(`${vpn}/re-deploy`);
  assert.deepEqual([done.status, done.body], [204, '']);
  assert.deepEqual(await output(`${vpn}/check-sync`), { 'in-sync': true });
});

test('live status of a southbound-locked device is 500; a command on a working one replies in its module', async (t) => {
  const { post } = await started(t);
  const show = (name: string) => `${device(name)}/live-status/tailf-ned-cisco-ios-stats:exec/show`;
  const good = await post(show('ce0'), { args: 'version' });
  assert.match(JSON.parse(good.body)['tailf-ned-cisco-ios-stats:output'].result, /^\r\n.*show version\r\nce0# $/u);
  const bad = await post(show('ce21'), { args: 'version' });
  assert.equal(bad.status, 500);
  assert.match(bad.body, /"error-message": "Device ce21 is southbound locked"/u);
  assert.equal((await post(show('pe0'), { args: 'version' })).status, 404, 'another NED');
});

test('an action refuses query parameters, unknown input, unknown devices and other methods', async (t) => {
  const { post } = await started(t);
  const query = await post(`${device('ce0')}/check-sync?dry-run=native`);
  assert.equal(query.status, 400);
  assert.match(query.body, /invalid-value/u);
  assert.equal((await post(`${device('ce0')}/check-sync`, { nothing: 1 })).status, 400);
  assert.equal((await post(`${device('none')}/check-sync`)).status, 404);
  assert.equal((await post(`${device('ce0')}/no-such-action`)).status, 404);
  assert.equal((await post('data/tailf-ncs:devices/check-sync', { device: ['none'] })).status, 400);
});

test('an action takes XML input and replies in XML', async (t) => {
  const { post } = await started(t);
  const demo = await startDemoOrchestrator();
  t.after(() => demo.close());
  const reply = await callDemo(demo.url, {
    method: 'POST',
    path: '/restconf/operations/tailf-ncs:devices/check-sync',
    headers: { Accept: 'application/yang-data+xml', 'Content-Type': 'application/yang-data+xml' },
    body: '<input xmlns="http://tail-f.com/ns/ncs"><device>ce0</device></input>',
  });
  assert.match(reply.body, /^<output xmlns="http:\/\/tail-f\.com\/ns\/ncs">\n {2}<sync-result>\n {4}<device>ce0<\/device>/u);
  const none = await post(`${device('ce0')}/check-sync`, undefined, { Accept: 'application/yang-data+xml' });
  assert.match(none.body, /<result>in-sync<\/result>/u);
});

test('every action of the schema can be invoked', async (t) => {
  const { post } = await started(t);
  const sample: Record<string, string> = { device: 'ce0', 'device-group': 'provider-edge', l3vpn: 'volvo' };
  const paths: string[] = [];
  const walk = (schema: SchemaNode, path: string): void => {
    if (!isBranch(schema)) return;
    const here = schema.kind === 'list' && schema.name in sample ? `${path}=${String(sample[schema.name])}` : path;
    for (const action of schema.actions.keys()) paths.push(`${here}/${action}`);
    for (const [member, child] of schema.children) if (!member.includes('-xr')) walk(child, `${here}/${member}`);
  };
  walk(rootSchema, '');
  assert.ok(paths.length > 20, paths.join());
  for (const path of paths) assert.ok([200, 204].includes((await post(`data${path}`)).status), path);
});

test('a rollback file shows what its rollback undoes, and applying it does exactly that', async (t) => {
  const { url, post, output } = await started(t);
  const path = '/restconf/data/tailf-ncs:devices/global-settings/trace';
  await callDemo(url, { method: 'PUT', path, headers: json, body: '{"tailf-ncs:trace":"raw"}' });
  const shown = await output('data/tailf-rollback:rollback-files/get-rollback-file', { id: 0 });
  assert.equal(
    shown['content'],
    '  devices {\n      global-settings {\n-         trace raw;\n+         trace false;\n      }\n  }\n',
  );
  const { body } = await callDemo(url, { path: '/restconf/data/tailf-rollback:rollback-files/file=0', headers: json });
  const [file] = JSON.parse(body)['tailf-rollback:file'] as readonly Record<string, unknown>[];
  assert.deepEqual(
    await output('data/tailf-rollback:rollback-files/get-rollback-file', { 'fixed-number': file?.['fixed-number'] }),
    shown,
  );
  assert.equal((await post('data/tailf-rollback:rollback-files/apply-rollback-file', { id: 0 })).status, 204);
  assert.match((await callDemo(url, { path, headers: json })).body, /"false"/u);
  assert.equal((await post('data/tailf-rollback:rollback-files/get-rollback-file', { id: 999 })).status, 400);
});

test('the YANG library lists every module in both of its forms, tailf-ncs with its revision', async (t) => {
  const { url } = await started(t);
  const read = async (path: string): Promise<Record<string, never>> => {
    const { status, body } = await callDemo(url, { path: `/restconf/data/ietf-yang-library:${path}`, headers: json });
    assert.equal(status, 200, body);
    return Object.values<Record<string, never>>(JSON.parse(body))[0] ?? {};
  };
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).toSorted();
  const library = await read('yang-library');
  const [set] = library['module-set'] as unknown as readonly { readonly module: readonly { readonly name: string }[] }[];
  const state = await read('modules-state');
  assert.deepEqual(names(set?.module ?? []), names(state['module'] ?? []));
  assert.ok(names(set?.module ?? []).includes('ietf-yang-library'));
  const [ncs] = Object.values(await read('yang-library/module-set=common/module=tailf-ncs'));
  assert.deepEqual(ncs, { name: 'tailf-ncs', revision: '2024-07-09', namespace: 'http://tail-f.com/ns/ncs' });
  const { body } = await callDemo(url, {
    path: '/restconf/data/ietf-yang-library:modules-state/module?fields=name;revision',
    headers: json,
  });
  assert.match(body, /"name": "tailf-ncs",\s+"revision": "\d{4}-\d\d-\d\d"/u);
});
