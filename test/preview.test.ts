import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, post, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { type LibraryForm, NsoNode, yang } from './support/upstreams/nso-node.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// The preview of a call is the orchestrator's own dry run. It never changes anything: a server that may not know dry runs gets none.

const gateway = await startGateway({ after });
const demo = await startDemoOrchestrator();
after(() => demo.close());

let instances = 0;

/** Reloads the gateway with this adapter instance alone; resolves to its name, which no other has. */
async function instance(adapter: Readonly<Record<string, unknown>>): Promise<string> {
  instances += 1;
  const name = `nso-${instances}`;
  await reloadWith(gateway, { adapters: [{ kind: 'nso', ...adapter, name }] });
  return name;
}

async function nso(t: TestContext, library: LibraryForm, more: Readonly<Record<string, unknown>> = {}) {
  const node = await NsoNode.start(t, library);
  return { node, name: await instance({ url: node.far.url, ...more }) };
}

const demoInstance = (): Promise<string> =>
  instance({ url: demo.url, auth: { type: 'basic', username: 'admin', password: 'admin' } });

const path = 'restconf/data/tailf-ncs:devices/device=ce0/config/tailf-ned-cisco-ios:hostname';
const body = '{"tailf-ned-cisco-ios:hostname": "renamed", "x": 1.0}';

interface Asked {
  readonly method?: string;
  readonly path?: string;
  /** The JSON text; empty: none. */
  readonly body?: string;
  readonly contentType?: string;
  readonly format?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask(name: string, asked: Asked = {}): Promise<Reply> {
  const { method = 'PUT', contentType, format } = asked;
  const params = JSON.stringify({ method, path: asked.path ?? path, accept: yang, ...(contentType && { contentType }) });
  const sent = asked.body ?? body;
  const members = [`"params":${params}`, ...(sent === '' ? [] : [`"body":${sent}`]), ...(format ? [`"format":"${format}"`] : [])];
  return post(gateway, `/orchestrator_manager/preview/${name}`, `{${members.join(',')}}`, { headers: asked.headers ?? {} });
}

interface Answer {
  readonly kind: string;
  readonly text?: string;
  readonly reason?: string;
}

async function preview(name: string, asked?: Asked): Promise<Answer> {
  const reply = await ask(name, asked);
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Answer;
}

async function reasonOf(name: string, asked?: Asked): Promise<string> {
  const { kind, reason = '', ...rest } = await preview(name, asked);
  assert.deepEqual([kind, rest], ['none', {}]);
  assert.match(reason, /^\S.*\.$/su);
  return reason;
}

test('a preview of a configuration change is the dry run of NSO, with the bytes of the caller', async (t) => {
  for (const library of ['rfc8525', 'rfc7895'] as const) {
    const { node, name } = await nso(t, library);
    node.answer = () =>
      jsonReply('{"dry-run-result":{"native":{"device":[{"name":"ce0","data":"hostname renamed\\n"}]}}}', { type: yang });
    assert.deepEqual(await preview(name, { path: `${path}?no-networking=true` }), { kind: 'native', text: 'hostname renamed\n' });
    const [sent] = node.calls;
    assert.equal(sent?.method, 'PUT');
    assert.equal(sent?.target, `/${path}?no-networking=true&dry-run=native`);
    assert.equal(sent?.body.toString(), body);
    assert.equal(sent?.header('accept'), yang);
    assert.deepEqual([node.calls.length, node.changes], [1, 0]);
  }
});

test('a node that does not prove that it is NSO gets no dry run, and no other change', async (t) => {
  for (const library of ['other', 'absent'] as const) {
    const { node, name } = await nso(t, library);
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'])
      assert.match(await reasonOf(name, { method, body: '{"x:child":1}' }), /its YANG library does not prove that it is NSO/u);
    for (const path of ['restconf/data/x?dry-run=native', 'restconf/data/x?dry%2Drun=cli'])
      assert.match(await reasonOf(name, { method: 'PATCH', path }), /its YANG library does not prove that it is NSO/u);
    assert.deepEqual([node.calls.length, node.changes], [0, 0]);
    assert.ok(node.libraryReads >= 8, 'a missing proof is not kept');
  }
});

test('an import-only module and a name elsewhere in the library prove nothing', async (t) => {
  const far = await upstream(t);
  const name = await instance({ url: far.url });
  const replies = [
    '{"ietf-yang-library:yang-library":{"module-set":[{"name":"tailf-ncs","import-only-module":[{"name":"tailf-ncs"}]}]}}',
    '{"ietf-yang-library:modules-state":{"module":[{"name":"tailf-ncs","conformance-type":"import"}],"name":"tailf-ncs"}}',
  ];
  far.answer(({ target }) => jsonReply(replies[target.includes('modules-state') ? 1 : 0] ?? '', { type: yang }));
  assert.match(await reasonOf(name), /does not list the module tailf-ncs/u);
  for (const text of ['', '<yang-library/>', '{"ietf-yang-library:yang-library":', '"tailf-ncs"', `[${'['.repeat(500)}`]) {
    far.answer(() => jsonReply(text, { type: yang }));
    assert.match(await reasonOf(name), /answers no YANG library/u);
  }
  far.answer(() => jsonReply(`{"pad":"${'x'.repeat(5 * 1024 ** 2)}"}`, { type: yang, chunk: 60_000 }));
  assert.match(await reasonOf(name), /more than 4194304 bytes/u);
  assert.ok(far.requests.every(({ method }) => method === 'GET'));
});

test('a proof is kept for the next preview, and read again after a failure of the node and after a reload', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  await Promise.all([preview(name), preview(name)]);
  await preview(name);
  assert.deepEqual([node.libraryReads, node.calls.length], [1, 3]);
  node.answer = (_request, socket) => void socket.destroy();
  assert.equal(await reasonOf(name), 'The orchestrator did not answer the dry run.');
  node.library = 'other';
  assert.match(await reasonOf(name), /does not prove/u);
  assert.equal(node.calls.length, 4);
  node.library = 'rfc8525';
  node.answer = () => jsonReply('{"dry-run-result":{"native":{}}}', { type: yang });
  assert.deepEqual(await preview(name), { kind: 'native', text: '' });
  const before = node.libraryReads;
  const next = await instance({ url: node.far.url });
  await preview(next);
  assert.equal(node.libraryReads, before + 1);
});

test('the proof is of the node that gets the dry run: that of another node counts for nothing', async (t) => {
  const [first, second] = [await NsoNode.start(t, 'rfc8525'), await NsoNode.start(t, 'other')];
  [first.mode, second.mode] = ['secondary', 'primary'];
  const name = await instance({ urls: [first.far.url, second.far.url] });
  assert.match(await reasonOf(name), new RegExp(`No dry run was sent to ${second.far.authority}: `, 'u'));
  assert.deepEqual([first.calls.length, second.calls.length, second.changes], [0, 0, 0]);
  [first.mode, second.mode] = ['primary', 'secondary'];
  await relay(gateway, 'restAction', name, { params: { path: 'restconf/data/x/act', accept: yang }, body: {} });
  const again = await instance({ urls: [first.far.url, second.far.url] });
  assert.deepEqual(await preview(again), { kind: 'native', text: '' });
  assert.equal(second.calls.filter(({ target }) => target.includes('dry-run')).length, 0);
});

test('NSO 6.7 gets a dry run in params, merged with those of the caller, and never in a header', async (t) => {
  const { node, name } = await nso(t, '6.7');
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const paramsOf = (target = ''): string => {
    const [, encoded = ''] = /[?&]params=([^&]*)/u.exec(target) ?? [];
    return Buffer.from(decodeURIComponent(encoded), 'base64').toString();
  };
  node.answer = () => jsonReply('{"dry-run-result":{"native":{}}}', { type: yang });
  const dryRun = '"dry-run":{"outformat":"native"}';
  const label = encode('{"label":"maintenance","x":1.50}');
  for (const [asked, params] of [
    [{}, `{${dryRun}}`],
    [{ path: `${path}?params=${encodeURIComponent(label)}` }, `{"label":"maintenance","x":1.50,${dryRun}}`],
    [{ headers: { 'X-Cisco-NSO-Commit-Params': label } }, `{"label":"maintenance","x":1.50,${dryRun}}`],
    [
      {
        path: `${path}?params=${encodeURIComponent(encode('{"no-networking":[null]}'))}`,
        headers: { 'X-Cisco-NSO-Commit-Params': label },
      },
      `{"no-networking":[null],"label":"maintenance","x":1.50,${dryRun}}`,
    ],
  ] as const) {
    node.serve();
    assert.deepEqual(await preview(name, asked), { kind: 'native', text: '' });
    const [sent] = node.calls;
    assert.equal(paramsOf(sent?.target), params);
    assert.equal(sent?.header('x-cisco-nso-commit-params'), undefined);
    assert.doesNotMatch(sent?.target ?? '', /dry-run=/u);
    assert.equal(sent?.body.toString(), body);
  }
  node.serve();
  await preview(name, { method: 'POST', path: 'restconf/data/tailf-ncs:devices/device=ce0/sync-to', body: '{}', format: 'cli' });
  assert.equal(node.calls[0]?.body.toString(), '{"input":{"dry-run":{"outformat":"cli"}}}');
  assert.doesNotMatch(node.calls[0]?.target ?? '', /\?/u);
  assert.equal(node.changes, 0);
});

test('nodes of two versions get a dry run in the form that each of them knows', async (t) => {
  const [older, newer] = [await NsoNode.start(t, 'rfc8525'), await NsoNode.start(t, '6.7')];
  const targets: (string | undefined)[] = [];
  for (const primary of [older, newer]) {
    [older.mode, newer.mode] = primary === older ? ['primary', 'secondary'] : ['secondary', 'primary'];
    const name = await instance({ urls: [older.far.url, newer.far.url], health: { interval: '1s' } });
    // A refused change has the gateway look which node is the primary.
    await relay(gateway, 'restAction', name, { params: { path: 'restconf/data/x/act', accept: yang }, body: {} });
    await preview(name);
    targets.push(primary.calls.at(-1)?.target);
  }
  assert.match(targets[0] ?? '', /\?dry-run=native$/u);
  assert.match(targets[1] ?? '', /\?params=[\w%]+$/u);
});

test('other kinds of adapters are never asked', async (t) => {
  for (const kind of ['restconf', 'rest'] as const) {
    const { node, name } = await nso(t, 'rfc8525', { kind });
    assert.match(await reasonOf(name), new RegExp(`of kind ${kind}, which has no dry runs`, 'u'));
    assert.equal(node.far.requests.length, 0);
  }
});

test('a call without a dry run is not sent, and the reason says why', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  const action = 'restconf/data/tailf-ncs:devices/device=ce0/sync-to';
  const cases: readonly (readonly [Asked, RegExp])[] = [
    [{ method: 'GET', body: '' }, /a GET has no dry run/u],
    [{ path: `${path}?dry-run` }, /is a dry run itself: it changes nothing/u],
    [{ path: `${path}?x=1&dry%2Drun=cli` }, /is a dry run itself: it changes nothing/u],
    [{ path: `${path}?commit-queue=async` }, /combines no dry run with commit-queue/u],
    [{ path: `${path}?no-out-of-sync-check` }, /combines no dry run with no-out-of-sync-check/u],
    [{ path: `${path}?no-overwrite&x` }, /combines no dry run with no-overwrite/u],
    [{ path: `${path}?params=e30%3D` }, /commit parameters are in params or .*, which NSO before 6\.7 does not know/u],
    [{ path: `${path}?%zz` }, /percent-encoded in a wrong way/u],
    [{ headers: { 'X-Cisco-NSO-Commit-Params': 'e30=' } }, /commit parameters are in .*X-Cisco-NSO-Commit-Params/u],
    [{ headers: { 'X-Cisco-NSO-Commit-Params': 'no base64' } }, /commit parameters are not base64 of one JSON object/u],
    [{ method: 'PATCH', contentType: 'application/yang-patch+json' }, /YANG Patch/u],
    [{ path: 'api/running/devices' }, /below restconf\/data/u],
    [{ path: 'x/restconf/data/y' }, /below restconf\/data/u],
    [{ path: 'restconf/ds/ietf-datastores:running/x' }, /below restconf\/data/u],
    [{ path: 'restconf/operations/x' }, /takes POST alone/u],
    [
      { method: 'POST', path: 'restconf/operations/tailf-ncs:packages/reload', body: '' },
      /no dry run of this POST: it is an operation/u,
    ],
    [{ method: 'POST', path: 'restconf/data/x:y/custom', body: '{}' }, /may be an action/u],
    [{ method: 'POST', path: 'restconf/data/x:y/custom', body: '{ "x:input": {} }' }, /is the input of an action/u],
    [{ method: 'POST', path: `${action}?unhide=debug`, body: '' }, /no query parameters with an action/u],
    [{ method: 'POST', path: action, body: '{"device":["ce0"]}' }, /not an object \{"input"/u],
    [{ method: 'POST', path: action, body: '{"input":{},"input":{}}' }, /not an object \{"input"/u],
    [{ method: 'POST', path: action, body: '{"input":{"ncs:dry-run":{}}}' }, /is a dry run itself: it changes nothing/u],
    [{ method: 'POST', path: action, body: '{"input":{"a":1}}', contentType: 'application/yang-data+xml' }, /in JSON alone/u],
  ];
  for (const [asked, expected] of cases) assert.match(await reasonOf(name, asked), expected);
  // The proof of the node alone is read, for the calls that ask for a dry run themselves.
  assert.deepEqual([node.calls.length, node.changes, node.far.requests.length - node.libraryReads], [0, 0, 0]);
});

test('a POST that a server may take for an action is not sent for a preview, in no spelling', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  node.answer = () => httpReply({ status: 204 });
  const reboot = 'restconf/data/tailf-ncs:devices/device=ce0/tailf-ned:reboot';
  const device = 'restconf/data/tailf-ncs:devices/device=ce0';
  const child = '{"x:child":{}}';
  const cases: readonly Asked[] = [
    { path: reboot, body: '' },
    { path: reboot, body: String.raw`{"\u0069nput":{}}` },
    { path: reboot, body: String.raw`{"x:\u0069nput":{}}` },
    { path: reboot, body: '{"INPUT":{}}' },
    { path: reboot, body: `{${' '.repeat(5_000)}"input":{}}` },
    { path: reboot, body: '{"a":1,"input":{}}' },
    { path: reboot, body: '{"input":{},"input":1}' },
    { path: reboot, body: '{"x:a/../input":{}}' },
    ...['sync-to/', 'sync-to;x', 'sync-to;x=1', 'sync%252Dto', 'sync-to%2F', 'sync-to%20', 'sync-to/.', '%'].map((last) => ({
      path: `${device}/${last}`,
      body: child,
    })),
    { path: `${device}//sync-to`, body: child },
  ];
  for (const asked of cases) await reasonOf(name, { method: 'POST', ...asked });
  assert.equal(node.far.requests.length, 0, 'not even a proof is asked for');
});

test('an action is a dry run in each spelling that names it, and a configuration child is one as well', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  const device = 'restconf/data/tailf-ncs:devices/device=ce0';
  for (const [last, sent, body] of [
    ['sync%2Dto', '{"input":{"dry-run":{"outformat":"native"}}}', '{}'],
    ['tailf-ncs%3async-to', '{"input":{"dry-run":{"outformat":"native"}}}', '{"input":{}}'],
    ['config/tailf-ned:interface=0%2F1?dry-run=native', '{"x:child":{"a":1.0}}', '{"x:child":{"a":1.0}}'],
  ] as const) {
    node.serve();
    await preview(name, { method: 'POST', path: `${device}/${last.replace('?dry-run=native', '')}`, body, format: 'native' });
    assert.deepEqual([node.calls[0]?.target, node.calls[0]?.body.toString()], [`/${device}/${last}`, sent]);
  }
  assert.equal(node.changes, 0);
});

test('an action gets dry-run as a member of its input, and every other byte stays', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  node.answer = () => jsonReply('{"tailf-ncs:output":{"cli":{"local-node":{"data":"+ x;\\n"}}}}', { type: yang });
  const action = 'restconf/data/tailf-ncs:devices/device=ce0/sync-to';
  const inputs = [
    ['', '{"input":{"dry-run":{"outformat":"cli"}}}'],
    ['{ }', '{"input":{"dry-run":{"outformat":"cli"}}}'],
    ['{"input":{}}', '{"input":{"dry-run":{"outformat":"cli"}}}'],
    [
      '{ "tailf-ncs:input" : { "n": 18446744073709551615, "a": [1.0, {"input": 1}], "n": 2 } }',
      '{ "tailf-ncs:input" : {"dry-run":{"outformat":"cli"}, "n": 18446744073709551615, "a": [1.0, {"input": 1}], "n": 2 } }',
    ],
  ] as const;
  for (const [given, sent] of inputs) {
    node.serve();
    assert.deepEqual(await preview(name, { method: 'POST', path: action, body: given, format: 'cli' }), {
      kind: 'cli',
      text: '+ x;\n',
    });
    assert.equal(node.calls[0]?.body.toString(), sent);
    assert.equal(node.calls[0]?.header('content-type'), yang);
    assert.equal(node.calls[0]?.target, `/${action}`);
  }
  assert.equal(node.changes, 0);
});

test('a result is read in the shapes of NSO, and several devices get headings', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  const shapes: readonly (readonly [text: string, expected: Answer, asked?: Asked])[] = [
    ['{"dry-run-result":{"native":{}}}', { kind: 'native', text: '' }],
    ['{"x:dry-run-result":{"native":{"device":{"name":"ce1","data":"a"}}}}', { kind: 'native', text: '# device ce1\na\n' }],
    [
      '{"dry-run-result":{"native":{"device":[{"name":"ce0","data":"a\\n"},{"name":"pe1","data":"b"}]}}}',
      { kind: 'native', text: '# device ce0\na\n# device pe1\nb\n' },
    ],
    ['{"dry-run-result":{"result-xml":{"local-node":{"data":"<a/>"}}}}', { kind: 'xml', text: '<a/>' }, { format: 'xml' }],
    [
      '{"dry-run-result":{"cli":{"local-node":{"data":"a"},"lsa-node":[{"name":"n1","data":"b"}]}}}',
      { kind: 'cli', text: 'a\n# lsa-node n1\nb\n' },
      { format: 'cli' },
    ],
  ];
  for (const [text, expected, asked] of shapes) {
    node.answer = () => jsonReply(text, { type: yang });
    assert.deepEqual(await preview(name, asked), expected, text);
  }
});

test('an answer without the result of a dry run is no preview', async (t) => {
  const { node, name } = await nso(t, 'rfc8525', { timeouts: { total: '2s', firstByte: '500ms' } });
  const without = /without the result of a dry run/u;
  const answers: readonly (readonly [reply: Buffer, reason: RegExp])[] = [
    [httpReply({ status: 204 }), without],
    [jsonReply('not JSON', { type: yang }), without],
    [jsonReply('<dry-run-result/>', { type: 'application/yang-data+xml' }), without],
    [jsonReply('{"tailf-ncs:output":{"result":true}}', { type: yang }), without],
    [jsonReply('{"tailf-ncs:output":{"sync-result":[{"device":"ce0","result":true}]}}', { type: yang }), without],
    [jsonReply('{"tailf-ncs:output":{"sync-result":[]}}', { type: yang }), without],
    [jsonReply(`{"dry-run-result":{"native":${'['.repeat(1_000)}`, { type: yang }), without],
    [
      jsonReply('{"tailf-ncs:output":{"result":false,"info":"Device ce0 is \\u001b[2J\\u0000 locked"}}', { type: yang }),
      /Device ce0 is .\[2J\ufffd locked\.$/u,
    ],
    [
      jsonReply(`{"dry-run-result":{"cli":{"local-node":{"data":"${'x'.repeat(1_100_000)}"}}}}`, { type: yang, chunk: 50_000 }),
      /more than 1048576 bytes/u,
    ],
    [
      jsonReply('{"ietf-restconf:errors":{"error":[{"error-tag":"unknown-element","error-message":"unknown element: x"}]}}', {
        status: 400,
        type: yang,
      }),
      /answered 400: unknown-element: unknown element: x\.$/u,
    ],
    [httpReply({ status: 302, headers: { Location: '/elsewhere' } }), /answered 302/u],
    [httpReply({ headers: { 'Content-Type': 'text/event-stream' }, chunk: 1 }), /./u],
  ];
  for (const [reply, expected] of answers) {
    node.answer = () => reply;
    assert.match(await reasonOf(name), expected);
  }
  node.answer = () => undefined;
  assert.equal(await reasonOf(name), 'The orchestrator did not answer the dry run.');
  node.answer = () =>
    jsonReply('{"dry-run-result":{"native":{"device":[{"name":"ce0","data":"a\\u0007\\u0000\\ud800\\r\\n"}]}}}', { type: yang });
  assert.deepEqual(await preview(name), { kind: 'native', text: 'a\u0007\ufffd\ufffd\r\n' });
});

test('an action that has no native form is asked again for cli, unless the caller has named a format', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  const error = '{"ietf-restconf:errors":{"error":[{"error-tag":"invalid-value","error-message":"native"}]}}';
  const output = '{"tailf-ncs:output":{"cli":{"local-node":{"data":"+ x;\\n"}}}}';
  node.answer = ({ body: sent }) =>
    sent.includes('"native"') ? jsonReply(error, { status: 400, type: yang }) : jsonReply(output, { type: yang });
  const sync = { method: 'POST', path: 'restconf/data/tailf-ncs:devices/device=ce0/sync-from', body: '{}' };
  assert.deepEqual(await preview(name, sync), { kind: 'cli', text: '+ x;\n' });
  assert.equal(node.calls.length, 2);
  assert.match(await reasonOf(name, { ...sync, format: 'native' }), /answered 400: invalid-value: native/u);
  node.answer = () => jsonReply(error, { status: 400, type: yang });
  assert.match(await reasonOf(name, sync), /answered 400: invalid-value: native/u);
  assert.equal(node.changes, 0);
});

test('a node that does not answer for its YANG library gets no dry run', async (t) => {
  const { node, name } = await nso(t, 'hangs', { timeouts: { total: '2s', firstByte: '300ms' } });
  assert.equal(await reasonOf(name), 'The orchestrator did not answer in time.');
  await node.far.close();
  assert.match(await reasonOf(name), /./u);
  assert.equal(node.calls.length, 0);
});

test('path rights hold for the path of the call, and roles for who asks', async (t) => {
  const { node, name } = await nso(t, 'rfc8525', { denyPaths: { actions: ['**/device=ce0/**'], queries: [] } });
  assertProblem(await ask(name), 403, 'path-denied');
  const asEngineer = await post(gateway, `/orchestrator_manager/preview/${name}`, '{}', { role: 'engineering' });
  assertProblem(asEngineer, 403, 'forbidden');
  assertProblem(await ask('unknown'), 404, 'adapter-not-found');
  assertProblem(await ask(name, { format: 'json' }), 400, 'invalid-request');
  for (const query of ['?format=json', '?format=cli&format=cli', '?other=1']) {
    const target = `/orchestrator_manager/preview/${name}${query}`;
    assertProblem(await post(gateway, target, { params: { method: 'PUT', path, accept: yang } }), 400, 'invalid-request');
  }
  assert.equal(node.far.requests.length, 0);
});

test('a dry run is on record before it leaves, with its format', async (t) => {
  const { node, name } = await nso(t, 'rfc8525');
  await ask(name, { format: 'xml', headers: { 'X-Request-Id': 'preview-1' } });
  node.library = 'other';
  await reloadWith(gateway, { adapters: [{ kind: 'nso', url: node.far.url, name, concurrency: 7 }] });
  await ask(name, { headers: { 'X-Request-Id': 'preview-2' } });
  let records: readonly AuditRecord[] = [];
  await until('the records', async () => {
    const reply = await gateway.send({ target: '/audit?limit=100', role: 'admin' });
    records = (reply.json() as { readonly list: readonly AuditRecord[] }).list.filter(({ requestId }) =>
      requestId?.startsWith('preview-'),
    );
    return records.length >= 4;
  });
  const calls = records.filter(({ route }) => route === 'preview restRequest').toReversed();
  assert.deepEqual(
    calls.map((record) => [
      record.requestId,
      record.preview,
      record.verb,
      record.address,
      record.outcome,
      record.code,
      record.upstreamStatus,
    ]),
    [
      ['preview-1', 'xml', 'PUT', path, 'ok', undefined, 200],
      ['preview-2', 'native', 'PUT', path, 'refused', 'no-dry-run', undefined],
    ],
  );
  const asked = records.filter(({ route }) => route === 'POST /orchestrator_manager/preview/:adapterId');
  assert.deepEqual(
    asked.map(({ adapter, status }) => [adapter, status]),
    [
      [name, 200],
      [name, 200],
    ],
  );
});

test('the demo orchestrator shows what a call would do, and does not do it', async () => {
  const name = await demoInstance();
  const change = { method: 'PUT', path, body: '{"tailf-ned-cisco-ios:hostname":"renamed"}' };
  assert.deepEqual(await preview(name, change), { kind: 'native', text: 'hostname renamed\n' });
  assert.match((await preview(name, { ...change, format: 'cli' })).text ?? '', /^-\s+hostname ce0;\n\+\s+hostname renamed;$/mu);
  assert.match((await preview(name, { ...change, format: 'xml' })).text ?? '', /<hostname xmlns="urn:ios">renamed<\/hostname>/u);
  const service = 'restconf/data/l3vpn:vpn/l3vpn=volvo';
  assert.match(
    (await preview(name, { method: 'DELETE', path: service, body: '' })).text ?? '',
    /^# device .+\nno vrf definition volvo\n/mu,
  );
  const sync = 'restconf/data/tailf-ncs:devices/device=ce22/sync-from';
  const shown = await preview(name, { method: 'POST', path: sync, body: '{}' });
  assert.match(shown.text ?? '', /hostname changed-by-hand/u);
  assert.deepEqual(await preview(name, { method: 'POST', path: sync, body: '{}' }), shown, 'nothing was synchronized');
  const all = await preview(name, {
    method: 'POST',
    path: 'restconf/data/tailf-ncs:devices/sync-to',
    body: '{"input":{"device":["ce22","ce23"]}}',
  });
  assert.match(
    all.text ?? '',
    /^# device ce22\nhostname ce22\n# device ce23\nFailed to connect to device ce23: connection refused\n$/u,
  );
  const inSync = { method: 'POST', path: 'restconf/data/tailf-ncs:devices/sync-from', body: '{"input":{"device":["ce0"]}}' };
  for (const format of ['native', 'cli', 'xml'])
    assert.deepEqual(await preview(name, { ...inSync, format }), { kind: format, text: '' });
  assert.deepEqual(await preview(name, { ...inSync, path: sync.replace('ce22', 'ce0'), body: '{}' }), {
    kind: 'native',
    text: '',
  });
  assert.match(await reasonOf(name, { method: 'POST', path: sync.replace('ce22', 'ce20'), body: '' }), /Device ce20 is locked/u);
  assert.match(await reasonOf(name, { ...change, body: '{"tailf-ned-cisco-ios:nothing":1}' }), /answered 400: unknown-element/u);
  const read = await relay(gateway, 'restQuery', name, { params: { path, accept: yang } });
  assert.match(read.text, /"ce0"/u);
});

test('the demo orchestrator of release 6.7 shows what a change with commit parameters would do', async (t) => {
  const newer = await startDemoOrchestrator({ release: '6.7' });
  t.after(() => newer.close());
  const name = await instance({ url: newer.url, auth: { type: 'basic', username: 'admin', password: 'admin' } });
  const params = Buffer.from('{"label":"maintenance","no-networking":[null]}').toString('base64');
  const change = { method: 'PUT', body: '{"tailf-ned-cisco-ios:hostname":"renamed"}' };
  for (const asked of [
    change,
    { ...change, path: `${path}?params=${encodeURIComponent(params)}` },
    { ...change, headers: { 'X-Cisco-NSO-Commit-Params': params } },
  ])
    assert.deepEqual(await preview(name, asked), { kind: 'native', text: 'hostname renamed\n' });
  assert.match(await reasonOf(name, { ...change, path: `${path}?no-networking` }), /answered 400: invalid-value/u);
  const read = await relay(gateway, 'restQuery', name, { params: { path, accept: yang } });
  assert.match(read.text, /"ce0"/u);
});
