import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callDemo, type DemoCall } from './demo-client.ts';
import { startDemoOrchestrator } from './demo-orchestrator.ts';

const accept =
  'application/vnd.yang.data+json, application/vnd.yang.collection+json, application/vnd.yang.datastore+json, application/vnd.yang.api+json';
const json = { Accept: accept, 'Content-Type': 'application/vnd.yang.data+json' };

async function started(t: TestContext) {
  const demo = await startDemoOrchestrator();
  t.after(() => demo.close());
  return (call: DemoCall) => callDemo(demo.url, { headers: json, ...call });
}

test('the API names its version and its datastores', async (t) => {
  const call = await started(t);
  const { headers, body } = await call({ path: '/api' });
  assert.equal(headers['content-type'], 'application/vnd.yang.api+json');
  assert.equal(headers['server'], '');
  assert.equal(JSON.parse(body).api.version, '0.5');
});

test('a resource shows the keys of lists and links to operations; deep, shallow and select change that', async (t) => {
  const call = await started(t);
  const read = async (path: string) => JSON.parse((await call({ path: `/api/running${path}` })).body);
  const devices = (await read('/devices'))['tailf-ncs:devices'];
  assert.deepEqual(devices.device[0], { name: 'ce0' });
  assert.equal(devices.operations['check-sync'], '/api/running/devices/_operations/check-sync');
  const shallow = (await read('/devices/device/ce0?shallow'))['tailf-ncs:device'];
  assert.deepEqual([shallow.address, shallow.config], ['192.0.2.10', {}]);
  const deep = (await read('/devices/device/ce0?deep'))['tailf-ncs:device'];
  assert.equal(deep.config['tailf-ned-cisco-ios:interface'].GigabitEthernet[0].mtu, 1500);
  assert.equal('live-status' in deep, false, 'running holds no operational state');
  assert.deepEqual(await read('/devices/device/ce0?select=address;device-type(*)'), {
    'tailf-ncs:device': {
      name: 'ce0',
      address: '192.0.2.10',
      'device-type': { cli: { 'ned-id': 'cisco-ios-cli-6.92:cisco-ios-cli-6.92' } },
    },
  });
});

test('a list needs a collection type and takes offset and limit', async (t) => {
  const call = await started(t);
  const headers = { Accept: 'application/vnd.yang.collection+json' };
  const { body } = await call({ path: '/api/running/devices/device?offset=1&limit=2&select=name', headers });
  assert.deepEqual(JSON.parse(body), { collection: { 'tailf-ncs:device': [{ name: 'ce1' }, { name: 'ce2' }] } });
  const data = await call({ path: '/api/running/devices/device', headers: { Accept: 'application/vnd.yang.data+json' } });
  assert.equal(data.status, 406);
});

test('64-bit numbers are bare in JSON, digit for digit', async (t) => {
  const call = await started(t);
  assert.match((await call({ path: '/api/running/vpn/l3vpn/volvo' })).body, /"vpn-id": 18446744073709551615,/u);
  assert.match((await call({ path: '/api/running/devices/device/ce0?deep' })).body, /"longitude": 18\.06490$/mu);
});

test('the rollback files repeat one member name in one JSON object', async (t) => {
  const call = await started(t);
  const { body } = await call({ path: '/api/rollbacks' });
  assert.ok(body.match(/"file":/gu)?.length === 2, body);
  const undo = await call({
    method: 'POST',
    path: '/api/running/_rollback',
    headers: { ...json, 'Content-Type': 'application/vnd.yang.data+xml' },
    body: '<file>0</file>',
  });
  assert.equal(undo.status, 204);
});

test('operations answer below _operations, in JSON and XML', async (t) => {
  const call = await started(t);
  const path = '/api/running/devices/device/ce22/_operations/check-sync';
  const reply = await call({
    method: 'POST',
    path,
    headers: { ...json, 'Content-Type': 'application/vnd.yang.operation+json' },
    body: '{"input":{}}',
  });
  assert.equal(JSON.parse(reply.body)['tailf-ncs:output'].result, 'out-of-sync');
  const xml = await call({ method: 'POST', path, headers: { Accept: 'application/vnd.yang.data+xml' } });
  assert.match(xml.body, /^<output xmlns="http:\/\/tail-f\.com\/ns\/ncs">\n {2}<result>out-of-sync<\/result>/u);
  const all = await call({ method: 'POST', path: '/api/running/devices/_operations/sync-from' });
  assert.equal(JSON.parse(all.body)['tailf-ncs:output']['sync-result'].length, 50);
});

test('a resource is created, changed and deleted; an empty reply is text/html', async (t) => {
  const call = await started(t);
  const created = await call({
    method: 'POST',
    path: '/api/running/devices',
    body: '{"device":[{"name":"new","address":"192.0.2.99"}]}',
  });
  assert.equal(created.status, 201);
  assert.match(String(created.headers.location), /\/api\/running\/devices\/device\/new$/u);
  const patched = await call({
    method: 'PATCH',
    path: '/api/running/devices/device/new',
    body: '{"device":[{"name":"new","port":23}]}',
  });
  assert.equal(patched.status, 204);
  assert.match(String(patched.headers['content-type']), /^text\/html/u);
  assert.equal((await call({ method: 'DELETE', path: '/api/running/devices/device/new' })).status, 204);
});

test('errors are those of NSO 5.3: 404 is empty, nearly all others are 400 malformed-message under errors', async (t) => {
  const call = await started(t);
  const absent = await call({ path: '/api/running/devices/device/none' });
  assert.deepEqual([absent.status, absent.body], [404, '']);
  const body = '{"tailf-ned-cisco-ios:hostname":"x"}';
  const outOfSync = await call({ method: 'PUT', path: '/api/running/devices/device/ce22/config/hostname', body });
  assert.equal(outOfSync.status, 404, 'two NEDs define hostname, so its module must be named');
  const named = await call({ method: 'PUT', path: '/api/running/devices/device/ce22/config/ios:hostname', body });
  assert.equal(named.status, 400);
  assert.deepEqual(JSON.parse(named.body).errors.error[0]['error-tag'], 'malformed-message');
  const xml = await call({
    method: 'PATCH',
    path: '/api/running/devices/device/none',
    headers: { Accept: 'application/vnd.yang.data+xml', 'Content-Type': 'application/vnd.yang.data+json' },
    body: '{"device":[{"name":"none"}]}',
  });
  assert.equal(xml.status, 400);
  assert.match(xml.body, /^<errors xmlns="http:\/\/tail-f\.com\/ns\/tailf-rest-error">/u);
  const anonymous = await call({ path: '/api', credentials: null });
  assert.deepEqual([anonymous.status, anonymous.headers['www-authenticate']], [401, 'Basic realm="rest"']);
});
