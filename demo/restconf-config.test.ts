import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { callDemo, type DemoCall } from './demo-client.ts';
import { startDemoOrchestrator } from './demo-orchestrator.ts';

const json = { Accept: 'application/yang-data+json', 'Content-Type': 'application/yang-data+json' };
const xml = { Accept: 'application/yang-data+xml', 'Content-Type': 'application/yang-data+xml' };
const devices = '/restconf/data/tailf-ncs:devices';
const hostname = 'config/tailf-ned-cisco-ios:hostname';

async function started(t: TestContext) {
  const demo = await startDemoOrchestrator();
  t.after(() => demo.close());
  return (call: DemoCall) => callDemo(demo.url, { headers: json, ...call });
}

function errorOf(body: string): Record<string, string> {
  return JSON.parse(body)['ietf-restconf:errors'].error[0];
}

test('a caller without credentials or with a wrong password gets 401 with a RESTCONF error', async (t) => {
  const call = await started(t);
  for (const credentials of [null, 'admin:wrong', 'unknown:admin']) {
    const { status, headers, body } = await call({ path: '/restconf', credentials });
    assert.equal(status, 401);
    assert.equal(headers['www-authenticate'], 'Basic realm="restconf"');
    assert.deepEqual(errorOf(body), { 'error-type': 'protocol', 'error-tag': 'access-denied' });
  }
});

test('every reply says that this is a stand-in', async (t) => {
  const call = await started(t);
  for (const path of ['/', '/restconf', '/api', '/demo/echo', '/nowhere']) {
    assert.match(String((await call({ path })).headers['x-demo-orchestrator']), /not Cisco NSO/u);
  }
});

test('host-meta, the API resource and the capabilities describe the server', async (t) => {
  const call = await started(t);
  const meta = await call({ path: '/.well-known/host-meta', headers: { Accept: 'application/xrd+xml' } });
  assert.equal(meta.headers['content-type'], 'application/xrd+xml');
  assert.match(meta.body, /href="\/restconf"/u);
  const root = await call({ path: '/restconf' });
  assert.equal(JSON.parse(root.body)['ietf-restconf:restconf']['yang-library-version'], '2019-01-04');
  const state = await call({ path: '/restconf/data/ietf-restconf-monitoring:restconf-state' });
  assert.match(state.body, /restconf:capability:depth:1\.0/u);
  const ha = await call({ path: '/restconf/data/tailf-ncs:high-availability/status' });
  assert.equal(JSON.parse(ha.body)['tailf-ncs:status'].mode, 'none');
});

test('the example has 50 devices with three network element drivers', async (t) => {
  const call = await started(t);
  const { body } = await call({ path: `${devices}/device?fields=name;device-type(cli/ned-id;netconf(ned-id))` });
  const list: { 'device-type': object }[] = JSON.parse(body)['tailf-ncs:device'];
  assert.equal(list.length, 50);
  assert.equal(new Set(list.map((device) => JSON.stringify(device['device-type']))).size, 3);
});

test('depth, fields, exclude, content, limit and offset reduce a reply', async (t) => {
  const call = await started(t);
  const read = async (rest: string) => JSON.parse((await call({ path: devices + rest })).body);
  assert.deepEqual(await read('?depth=1'), { 'tailf-ncs:devices': {} });
  assert.deepEqual(await read('/device=ce1?fields=address'), {
    'tailf-ncs:device': [{ name: 'ce1', address: '192.0.2.11' }],
  });
  assert.equal('config' in (await read('/device=ce1?exclude=config'))['tailf-ncs:device'][0], false);
  const page = await read('/device?offset=1&limit=2&fields=name');
  assert.deepEqual(page, { 'tailf-ncs:device': [{ name: 'ce1' }, { name: 'ce2' }] });
  assert.deepEqual(await read('/device=ce1/state?content=nonconfig'), {
    'tailf-ncs:state': { 'oper-state': 'enabled', 'last-transaction-id': '9007199254740994' },
  });
  assert.deepEqual(await read('/device=ce1/state?content=config'), { 'tailf-ncs:state': { 'admin-state': 'unlocked' } });
});

test('query parameters that are unknown, repeated, malformed or contradictory get 400', async (t) => {
  const call = await started(t);
  for (const query of [
    'x=1',
    'depth=1&depth=2',
    'depth=0',
    'fields=name&exclude=name',
    'fields=nothing',
    'fields=name(',
    'a=%zz',
  ]) {
    const { status, body } = await call({ path: `${devices}?${query}` });
    assert.equal(status, 400, query);
    assert.equal(errorOf(body)['error-tag'], 'invalid-value');
  }
});

test('an empty container and an empty list are 204, an absent entry and an unknown path 404', async (t) => {
  const call = await started(t);
  const empty = await call({ path: `${devices}/template` });
  assert.deepEqual([empty.status, empty.body, empty.headers.etag], [204, '', undefined]);
  assert.equal((await call({ path: `${devices}/device?offset=100` })).status, 204);
  for (const path of [
    'device=none',
    'device=none/config',
    'device=ce0/config/tailf-ned-cisco-ios:interface/Loopback=9',
    'nothing',
  ]) {
    const { status, body } = await call({ path: `${devices}/${path}` });
    assert.equal(status, 404, path);
    assert.equal(errorOf(body)['error-message'], 'uri keypath not found');
  }
  assert.equal((await call({ path: '/restconf/data/devices' })).status, 404, 'a top node needs its module name');
});

test('64-bit numbers are strings and an empty leaf is [null] in JSON', async (t) => {
  const call = await started(t);
  const { body } = await call({ path: '/restconf/data/l3vpn:vpn/l3vpn=volvo' });
  const [vpn] = JSON.parse(body)['l3vpn:l3vpn'];
  assert.equal(vpn['vpn-id'], '18446744073709551615');
  assert.deepEqual(vpn.monitored, [null]);
  assert.deepEqual(vpn['route-target'], ['65001:1', '65001:2']);
});

test('the default reply is XML, and several list entries need a collection type', async (t) => {
  const call = await started(t);
  const any = await call({ path: `${devices}/device=ce0/address`, headers: { Accept: '*/*' } });
  assert.equal(any.headers['content-type'], 'application/yang-data+xml');
  assert.equal(any.body, '<address xmlns="http://tail-f.com/ns/ncs">192.0.2.10</address>\n');
  const list = await call({ path: `${devices}/device?limit=2`, headers: { Accept: 'application/vnd.yang.collection+xml' } });
  assert.match(list.body, /^<collection xmlns="http:\/\/tail-f\.com\/ns\/restconf\/collection\/1\.0">/u);
  const wrapped = await call({ path: `${devices}/device?limit=2`, headers: { Accept: 'application/vnd.yang.collection+json' } });
  assert.equal(JSON.parse(wrapped.body).collection['tailf-ncs:device'].length, 2);
  assert.equal((await call({ path: `${devices}/device`, headers: xml })).status, 400);
});

test('application/json gets 406 in Accept, with an XML body, and 415 in Content-Type', async (t) => {
  const call = await started(t);
  const refused = await call({ path: devices, headers: { Accept: 'application/json' } });
  assert.equal(refused.status, 406);
  assert.match(refused.body, /^<errors xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf">/u);
  const headers = { ...json, 'Content-Type': 'application/json' };
  const sent = await call({ method: 'PATCH', path: devices, headers, body: '{}' });
  assert.equal(sent.status, 415);
  assert.equal(errorOf(sent.body)['error-tag'], 'malformed-message');
});

test('a resource is created (201 with Location), not created twice (409), then changed and deleted (204)', async (t) => {
  const call = await started(t);
  const body = '{"tailf-ncs:device":[{"name":"new/1","address":"192.0.2.200","authgroup":"customer"}]}';
  const created = await call({ method: 'POST', path: devices, body });
  assert.equal(created.status, 201);
  assert.match(
    String(created.headers.location),
    /^http:\/\/127\.0\.0\.1:\d+\/restconf\/data\/tailf-ncs:devices\/device=new%2F1$/u,
  );
  assert.equal(created.headers['content-type'], 'text/html; charset=UTF-8');
  const again = await call({ method: 'POST', path: devices, body });
  assert.deepEqual([again.status, errorOf(again.body)['error-tag']], [409, 'data-exists']);
  const device = `${devices}/device=new%2F1`;
  assert.equal(
    (await call({ method: 'PATCH', path: device, body: '{"tailf-ncs:device":[{"name":"new/1","port":2022}]}' })).status,
    204,
  );
  assert.equal((await call({ method: 'PUT', path: `${device}/description`, body: '{"tailf-ncs:description":"x"}' })).status, 201);
  assert.equal((await call({ method: 'PUT', path: `${device}/description`, body: '{"tailf-ncs:description":"y"}' })).status, 204);
  assert.deepEqual(JSON.parse((await call({ path: device })).body), {
    'tailf-ncs:device': [{ name: 'new/1', address: '192.0.2.200', port: 2022, description: 'y', authgroup: 'customer' }],
  });
  assert.equal((await call({ method: 'DELETE', path: device })).status, 204);
  assert.equal((await call({ method: 'DELETE', path: device })).status, 404);
});

test('XML bodies write the same data as JSON bodies', async (t) => {
  const call = await started(t);
  const body =
    '<l3vpn xmlns="http://com/example/l3vpn"><name>a &amp; b</name><vpn-id>9223372036854775808</vpn-id><monitored/>' +
    '<route-target>1:1</route-target><route-target>1:2</route-target><endpoint><id>1</id><device>ce9</device></endpoint></l3vpn>';
  const created = await call({ method: 'POST', path: '/restconf/data/l3vpn:vpn', headers: xml, body });
  assert.equal(created.status, 201, created.body);
  const read = await call({ path: '/restconf/data/l3vpn:vpn/l3vpn=a%20%26%20b?content=config' });
  assert.deepEqual(JSON.parse(read.body)['l3vpn:l3vpn'][0], {
    name: 'a & b',
    'vpn-id': '9223372036854775808',
    monitored: [null],
    'route-target': ['1:1', '1:2'],
    endpoint: [{ id: '1', device: 'ce9' }],
  });
});

test('any key that XML can hold is unchanged in paths and in both encodings', async (t) => {
  const call = await started(t);
  const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(key, async (name) => {
      const path = `/restconf/data/l3vpn:vpn/l3vpn=${encodeURIComponent(name)}`;
      const put = await call({ method: 'PUT', path, body: JSON.stringify({ 'l3vpn:l3vpn': [{ name }] }) });
      assert.equal(put.status, 201, put.body);
      assert.equal(JSON.parse((await call({ path })).body)['l3vpn:l3vpn'][0].name, name);
      const { body } = await call({ path: `${path}?content=config`, headers: xml });
      assert.equal((await call({ method: 'DELETE', path })).status, 204);
      assert.equal((await call({ method: 'PUT', path, headers: xml, body })).status, 201, body);
      assert.equal((await call({ method: 'DELETE', path })).status, 204);
    }),
    { numRuns: 60 },
  );
});

test('a body that does not match the schema gets 400 with the matching tag', async (t) => {
  const call = await started(t);
  const cases = [
    ['{"tailf-ncs:devices":{"nothing":1}}', 'unknown-element'],
    ['{"tailf-ncs:devices":{"global-settings":{"trace":"loud"}}}', 'invalid-value'],
    ['{"tailf-ncs:devices":{"global-settings":{"read-timeout":"5"}}}', 'invalid-value'],
    ['{"tailf-ncs:devices":{"global-settings":{"read-timeout":4294967296}}}', 'invalid-value'],
    ['{"tailf-ncs:devices":{"device":[{"address":"x"}]}}', 'malformed-message'],
    ['{"tailf-ncs:devices":{"device":[{"name":"ce0","authgroup":"unknown"}]}}', 'invalid-value'],
    ['{"tailf-ncs:devices":{"device":[{"name":"ce0","state":{"oper-state":"enabled"}}]}}', 'unknown-element'],
    ['{"__proto__":{"x":1}}', 'unknown-element'],
    ['{', 'malformed-message'],
    ['[]', 'malformed-message'],
  ] as const;
  for (const [body, tag] of cases) {
    const { status, body: reply } = await call({ method: 'PATCH', path: devices, body });
    assert.deepEqual([status, errorOf(reply)['error-tag']], [400, tag], body);
  }
  const doctype = await call({ method: 'PATCH', path: devices, headers: xml, body: '<!DOCTYPE x><devices/>' });
  assert.equal(doctype.status, 400);
});

test('a PATCH of an absent resource is 404, and a whole list cannot be deleted', async (t) => {
  const call = await started(t);
  const patch = await call({ method: 'PATCH', path: `${devices}/device=none`, body: '{"tailf-ncs:device":[{"name":"none"}]}' });
  assert.deepEqual([patch.status, errorOf(patch.body)['error-message']], [404, 'patch to a nonexistent resource']);
  const list = await call({ method: 'DELETE', path: `${devices}/device` });
  assert.deepEqual([list.status, errorOf(list.body)['error-message']], [400, 'Operation not allowed.']);
});

test('a write cannot change operational state and keeps it', async (t) => {
  const call = await started(t);
  const state = `${devices}/device=ce0/state`;
  assert.equal(
    (await call({ method: 'PUT', path: `${state}/oper-state`, body: '{"tailf-ncs:oper-state":"disabled"}' })).status,
    405,
  );
  assert.equal((await call({ method: 'DELETE', path: state })).status, 204);
  assert.equal(JSON.parse((await call({ path: state })).body)['tailf-ncs:state']['oper-state'], 'enabled');
});

test('a write to an unsynchronized or unreachable device is 502, to a locked or refusing one 500, without a change', async (t) => {
  const call = await started(t);
  const cases = [
    ['ce22', 'x', 502, 'Network Element Driver: device ce22: out of sync'],
    ['ce23', 'x', 502, 'Failed to connect to device ce23: connection refused'],
    ['ce20', 'x', 500, 'Device ce20 is locked'],
    ['ce0', 'refused-by-device', 500, "Invalid input detected at '^' marker."],
  ] as const;
  for (const [name, value, expected, message] of cases) {
    const path = `${devices}/device=${name}/${hostname}`;
    const { status, body } = await call({ method: 'PUT', path, body: JSON.stringify({ 'tailf-ned-cisco-ios:hostname': value }) });
    const error = errorOf(body);
    assert.deepEqual([status, error['error-tag']], [expected, 'operation-failed'], name);
    assert.ok(String(error['error-message']).includes(message), String(error['error-message']));
    assert.equal(JSON.parse((await call({ path })).body)['tailf-ned-cisco-ios:hostname'], name);
  }
  const body = '{"tailf-ned-cisco-ios:hostname":"y"}';
  const path = `${devices}/device=ce22/${hostname}?no-out-of-sync-check`;
  assert.equal((await call({ method: 'PUT', path, body })).status, 204);
});

test('a service writes to its devices and later removes that configuration', async (t) => {
  const call = await started(t);
  const vpn = '/restconf/data/l3vpn:vpn/l3vpn=blue';
  const vrf = `${devices}/device=ce10/config/tailf-ned-cisco-ios:vrf/definition=blue`;
  const body = '{"l3vpn:l3vpn":[{"name":"blue","as-number":65009,"vpn-id":"12","endpoint":[{"id":"1","device":"ce10"}]}]}';
  assert.equal((await call({ method: 'PUT', path: vpn, body })).status, 201);
  assert.equal(JSON.parse((await call({ path: vrf })).body)['tailf-ned-cisco-ios:definition'][0].rd, '65009:12');
  assert.deepEqual(JSON.parse((await call({ path: `${vpn}/modified` })).body), { 'l3vpn:modified': { devices: ['ce10'] } });
  assert.equal((await call({ method: 'DELETE', path: vpn })).status, 204);
  assert.equal((await call({ path: vrf })).status, 404);
});

test('a dry run shows the change in three forms and changes nothing', async (t) => {
  const call = await started(t);
  const path = `${devices}/device=ce0/${hostname}`;
  const body = '{"tailf-ned-cisco-ios:hostname":"renamed"}';
  const preview = async (query: string) => {
    const answer = await call({ method: 'PUT', path: `${path}?${query}`, body });
    assert.equal(answer.status, 200, answer.body);
    return JSON.parse(answer.body)['dry-run-result'];
  };
  assert.deepEqual(await preview('dry-run=native'), { native: { device: [{ name: 'ce0', data: 'hostname renamed\n' }] } });
  assert.deepEqual(await preview('dry-run=native&dry-run-reverse'), {
    native: { device: [{ name: 'ce0', data: 'hostname ce0\n' }] },
  });
  assert.match((await preview('dry-run=cli')).cli['local-node'].data, /^-\s+hostname ce0;\n\+\s+hostname renamed;$/mu);
  assert.match((await preview('dry-run=xml'))['result-xml']['local-node'].data, /<hostname xmlns="urn:ios">renamed<\/hostname>/u);
  const clash = await call({ method: 'PUT', path: `${path}?dry-run=cli&no-overwrite`, body });
  assert.equal(clash.status, 400);
  assert.equal((await call({ method: 'PUT', path: `${path}?params=e30%3D`, body })).status, 400, 'NSO before 6.7');
  assert.equal(JSON.parse((await call({ path })).body)['tailf-ned-cisco-ios:hostname'], 'ce0');
});

test('release 6.7 takes commit parameters as one JSON object, and its YANG library says so', async (t) => {
  const demo = await startDemoOrchestrator({ release: '6.7' });
  t.after(() => demo.close());
  const call = (asked: DemoCall) => callDemo(demo.url, { ...asked, headers: { ...json, ...asked.headers } });
  const path = `${devices}/device=ce0/${hostname}`;
  const body = '{"tailf-ned-cisco-ios:hostname":"renamed"}';
  const params = Buffer.from('{"label":"a","dry-run":{"outformat":"native","reverse":[null]}}').toString('base64');
  const inQuery = await call({ method: 'PUT', path: `${path}?params=${encodeURIComponent(params)}`, body });
  assert.match(inQuery.body, /hostname ce0/u);
  const inHeader = await call({ method: 'PUT', path, headers: { 'X-Cisco-NSO-Commit-Params': params }, body });
  assert.match(inHeader.body, /hostname ce0/u);
  for (const query of ['dry-run=native', 'label=a', 'params=x', `params=${Buffer.from('{"other":1}').toString('base64url')}`])
    assert.equal((await call({ method: 'PUT', path: `${path}?${query}`, body })).status, 400, query);
  assert.equal(JSON.parse((await call({ path })).body)['tailf-ned-cisco-ios:hostname'], 'ce0');
  assert.match((await call({ path: '/restconf/data/ietf-yang-library:yang-library' })).body, /"tailf-ncs-commit-params"/u);
});

test('the ETag is that of the whole datastore; a stale If-Match is 412 without a body, a current If-None-Match 304', async (t) => {
  const call = await started(t);
  const timeout = `${devices}/global-settings/read-timeout`;
  const body = '{"tailf-ncs:read-timeout":30}';
  const etag = String((await call({ path: `${devices}/device=ce0` })).headers.etag);
  assert.match(etag, /^W\/"[\d-]+\+json"$/u);
  assert.equal((await call({ path: timeout, headers: { ...json, 'If-None-Match': etag } })).status, 304);
  assert.equal((await call({ method: 'PUT', path: timeout, headers: { ...json, 'If-Match': etag }, body })).status, 204);
  const stale = await call({ method: 'PUT', path: timeout, headers: { ...json, 'If-Match': etag }, body });
  assert.deepEqual([stale.status, stale.body], [412, '']);
  const old = { ...json, 'If-Unmodified-Since': 'Thu, 01 Jan 2015 00:00:00 GMT' };
  assert.equal((await call({ method: 'DELETE', path: timeout, headers: old })).status, 412);
});

test('a commit can be undone by the rollback id it answers', async (t) => {
  const call = await started(t);
  const path = `${devices}/global-settings/trace`;
  const { status, body } = await call({ method: 'PUT', path: `${path}?rollback-id=true`, body: '{"tailf-ncs:trace":"raw"}' });
  assert.equal(status, 200);
  const id: number = JSON.parse(body)['tailf-restconf:result'].rollback.id;
  const apply = '/restconf/data/tailf-rollback:rollback-files/apply-rollback-file';
  assert.equal((await call({ method: 'POST', path: apply, body: `{"input":{"fixed-number":${String(id)}}}` })).status, 204);
  assert.equal(JSON.parse((await call({ path })).body)['tailf-ncs:trace'], 'false');
});

test('the read-only user may read everything and gets 403 for every write and action', async (t) => {
  const call = await started(t);
  const credentials = 'readonly-demo:admin';
  assert.equal((await call({ path: devices, credentials })).status, 200);
  for (const path of [devices, `${devices}/check-sync`]) {
    const { status, body } = await call({ method: 'POST', path, credentials, body: '{}' });
    assert.deepEqual([status, errorOf(body)['error-tag']], [403, 'access-denied']);
  }
});

test('a locked datastore answers writes with 409 lock-denied and still answers reads', async (t) => {
  const call = await started(t);
  const write = { method: 'PUT', path: `${devices}/global-settings/trace`, body: '{"tailf-ncs:trace":"raw"}' };
  assert.equal((await call({ method: 'POST', path: '/demo/lock' })).status, 204);
  const locked = await call(write);
  assert.deepEqual([locked.status, errorOf(locked.body)['error-tag']], [409, 'lock-denied']);
  assert.equal((await call({ method: 'POST', path: `${devices}/device=ce22/sync-from` })).status, 409);
  assert.equal((await call({ path: devices })).status, 200);
  assert.equal((await call({ method: 'POST', path: '/demo/unlock' })).status, 204);
  assert.equal((await call(write)).status, 204);
});

test('a reply names the trace of traceparent, which it repeats, or a new trace', async (t) => {
  const demo = await startDemoOrchestrator({ traceIds: () => 'made-here' });
  t.after(() => demo.close());
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const traced = await callDemo(demo.url, { path: '/restconf', headers: { ...json, traceparent } });
  assert.equal(traced.headers['x-cisco-nso-trace-id'], '0af7651916cd43dd8448eb211c80319c');
  assert.equal(traced.headers['traceparent'], traceparent);
  const plain = await callDemo(demo.url, { path: '/restconf', headers: json });
  assert.equal(plain.headers['x-cisco-nso-trace-id'], 'made-here');
});

test('HEAD replies like GET without a body, OPTIONS names the methods, other methods are 405', async (t) => {
  const call = await started(t);
  const head = await call({ method: 'HEAD', path: devices });
  assert.deepEqual([head.status, head.body], [200, '']);
  assert.ok(Number(head.headers['content-length']) > 0);
  assert.match(String((await call({ method: 'OPTIONS', path: devices })).headers.allow), /PATCH/u);
  assert.equal((await call({ method: 'PROPFIND', path: devices })).status, 405);
});
