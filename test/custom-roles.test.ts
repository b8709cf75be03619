import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Roles of the operator (access.roles) through HTTP, and what POST /access/explain says about the same calls.

const far = await upstream({ after });
const adapter = { kind: 'nso', url: far.url, auth: { type: 'none' } };
const users = ['noc', 'caller', 'writer'].map((role) => ({
  username: role,
  passwordHash: testPasswordHash,
  roles: role === 'writer' ? ['engineering', 'noc'] : [role],
  groups: [],
}));
const roles = [
  { name: 'noc', allows: [{ routes: ['restQuery'], adapters: ['Local NSO'], paths: ['restconf/data/tailf-ncs:devices/**'] }] },
  { name: 'caller', allows: [{ routes: ['restCall'], paths: ['status/**'], methods: ['GET'] }, { methods: ['PATCH'] }] },
];
const options = {
  users,
  config: { outbound: { allow: [far.authority] }, access: {} },
  adapters: [
    { ...adapter, name: 'Local NSO', denyPaths: { queries: ['**/authgroups/**'] } },
    { ...adapter, name: 'Other' },
  ],
};

function withRoles(defined: readonly object[]): typeof options {
  return { ...options, config: { ...options.config, access: { roles: defined } } };
}

const gateway = await startGateway({ after }, { ...withRoles(roles) });

function ask(user: string, target: string, body: object | string): Promise<Reply> {
  return gateway.send({
    method: 'POST',
    target,
    headers: {
      'Content-Type': 'application/json',
      Authorization: user === 'admin' ? gateway.basicFor('admin') : basic(user, testPassword),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const accept = 'application/yang-data+json';
const devices = 'restconf/data/tailf-ncs:devices/device=core-1';

interface Asked {
  readonly route: string;
  readonly adapter?: string;
  readonly method?: string;
  readonly path: string;
}

function call(user: string, { route, adapter: name = '', method, path }: Asked): Promise<Reply> {
  if (route === 'restCall') return ask(user, '/tools/restCall', { uri: path, verb: method, responseHeaders: false });
  const target = `/orchestrator_manager/${route}/${encodeURIComponent(name)}`;
  const params = { path, accept, ...(route === 'restRequest' ? { method } : {}) };
  return ask(user, target, { params, ...(route === 'restAction' ? { body: {} } : {}) });
}

function* everyCall(): Generator<Asked> {
  const paths = [
    devices,
    'restconf/data/tailf-ncs:devices/authgroups/x',
    'restconf/data/other',
    'restconf%2Fdata/tailf-ncs:devices/x',
  ];
  for (const path of paths) {
    for (const name of ['Local NSO', 'Other']) {
      for (const route of ['restAction', 'restQuery']) yield { route, adapter: name, path };
      for (const method of ['GET', 'PATCH', 'DELETE']) yield { route: 'restRequest', adapter: name, method, path };
    }
  }
  for (const method of ['GET', 'POST', 'PATCH'])
    for (const path of ['/status/a', '/other', '/status/a%2F..%2F..%2Fother'])
      yield { route: 'restCall', method, path: far.url + path };
}

/** The calls of one user that the gateway sends, each with the answer of explain about it. */
async function matrix(user: string): Promise<readonly Asked[]> {
  const sent: Asked[] = [];
  for (const asked of everyCall()) {
    far.answer(() => jsonReply('{}'));
    const before = far.requests.length;
    const reply = await call(user, asked);
    const explained = await ask(
      'admin',
      '/access/explain',
      user === 'admin' ? { roles: ['admin'], ...asked } : { principal: user, ...asked },
    );
    assert.equal(explained.status, 200, explained.text);
    const answer = explained.json() as { readonly allowed: boolean; readonly approvals: readonly string[] };
    assert.equal(answer.allowed, reply.status === 200, `${JSON.stringify(asked)} ${reply.text} ${explained.text}`);
    assert.deepEqual(answer.approvals, []);
    if (reply.status === 200) sent.push(asked);
    else assert.equal(reply.status, 403, reply.text);
    assert.equal(far.requests.length - before, reply.status === 200 ? 1 : 0);
  }
  return sent;
}

test('a principal with a role of the operator may make exactly the calls that its rights name, as explain says', async () => {
  assert.deepEqual(await matrix('noc'), [{ route: 'restQuery', adapter: 'Local NSO', path: devices }]);
  const patches = [...everyCall()].filter(({ method }) => method === 'PATCH');
  const status = { route: 'restCall', method: 'GET', path: `${far.url}/status/a` };
  assert.deepEqual(
    new Set((await matrix('caller')).map((each) => JSON.stringify(each))),
    new Set([status, ...patches].map((each) => JSON.stringify(each))),
  );
});

test('explain answers for a role of the specification as the call path decides', async () => {
  const all = [...everyCall()];
  const sent = await matrix('admin');
  assert.deepEqual(
    all.filter((asked) => !sent.includes(asked) && !sent.some((each) => JSON.stringify(each) === JSON.stringify(asked))),
    all.filter(
      ({ path, method, route, adapter: name }) =>
        name === 'Local NSO' && path.includes('authgroups') && (route === 'restQuery' || method === 'GET'),
    ),
  );
});

test('a caller is refused before its body is read only where no right can allow the call', async () => {
  const text = '{ no JSON';
  for (const target of [
    '/orchestrator_manager/restQuery/Other',
    '/orchestrator_manager/restAction/Local%20NSO',
    '/tools/restCall',
  ])
    assertProblem(await ask('noc', target, text), 403, 'forbidden');
  // The names of adapter instances are for callers who may call one.
  assertProblem(await ask('noc', '/orchestrator_manager/restQuery/none', text), 403, 'forbidden');
  assertProblem(await ask('noc', '/orchestrator_manager/restQuery/Local%20NSO', text), 400, 'invalid-json');
  const refused = assertProblem(
    await call('noc', { route: 'restQuery', adapter: 'Local NSO', path: 'restconf/data/x' }),
    403,
    'forbidden',
  );
  assert.match(refused.detail, /needs the role admin; you have noc\..*role noc, allows\[0\] has another path\.$/u);
});

test('the audit log names the right that allowed a call, and whoami the role', async () => {
  far.answer(() => jsonReply('{}'));
  assert.equal((await call('noc', { route: 'restQuery', adapter: 'Local NSO', path: devices })).status, 200);
  const who = await gateway.send({ target: '/whoami', headers: { Authorization: basic('writer', testPassword) } });
  assert.deepEqual((who.json() as { readonly roles: unknown }).roles, ['engineering', 'noc']);
  const rules = async (): Promise<readonly unknown[]> => {
    const reply = await gateway.send({ target: '/audit?principal=noc&outcome=ok&limit=1', role: 'admin' });
    return (reply.json() as { readonly list: readonly { readonly rule?: string; readonly roles?: unknown }[] }).list.map(
      ({ rule, roles: held }) => [rule, held],
    );
  };
  await until('the call is on record', async () => (await rules()).length > 0);
  assert.deepEqual(await rules(), [['role noc, allows[0]; allowPaths.queries', ['noc']]]);
});

test('a redirect to a path that no right names is not followed', async () => {
  far.answer(({ target }) =>
    target === '/status/a' ? httpReply({ status: 302, headers: { Location: '/admin' } }) : jsonReply('{}'),
  );
  const before = far.requests.length;
  const refused = assertProblem(
    await call('caller', { route: 'restCall', method: 'GET', path: `${far.url}/status/a` }),
    403,
    'forbidden',
  );
  assert.match(refused.detail, /^The upstream redirects to GET http:\/\/[^/]+\/admin, and you may not call that\./u);
  assert.equal(far.requests.length, before + 1);
  far.answer(({ target }) =>
    target === '/status/a' ? httpReply({ status: 302, headers: { Location: '/status/b' } }) : jsonReply('{}'),
  );
  assert.equal((await call('caller', { route: 'restCall', method: 'GET', path: `${far.url}/status/a` })).status, 200);
});

test('a role of the operator opens no other route', async () => {
  for (const target of ['/adapters', '/audit', '/metrics', '/automation_catalog/automations']) {
    const reply = await gateway.send({ target, headers: { Authorization: basic('noc', testPassword) } });
    assertProblem(reply, 403, 'forbidden');
  }
});

test('explain reports every problem of a question, and judges other routes by their roles', async () => {
  const problems = async (question: object): Promise<readonly string[]> => {
    const { errors = [] } = assertProblem(await ask('admin', '/access/explain', question), 400, 'invalid-request');
    return errors.map(({ pointer, detail }) => `${pointer} ${detail}`);
  };
  assert.deepEqual(await problems({ route: 'x' }), [
    '/principal or roles has to be given, and only one of the two',
    '/route is no operationId of /openapi.json',
  ]);
  assert.match((await problems({ principal: 'none', route: 'restCall' })).join(), /^\/principal is no user or client/u);
  assert.match(
    (await problems({ roles: ['noc', 'x'], route: 'restCall' })).join(),
    /^\/roles\/1 is no role; there are .*noc, caller$/u,
  );
  assert.deepEqual(await problems({ roles: [], route: 'restQuery', adapter: 'none', method: 'POST', path: '' }), [
    '/adapter is no adapter instance; there are "Local NSO", "Other"',
    '/method is always GET for restQuery',
    '/path is empty; name a resource, such as restconf/data/tailf-ncs:devices',
  ]);
  assert.deepEqual(await problems({ roles: [], route: 'whoami', adapter: 'Other', path: 'x' }), [
    '/adapter has no meaning here: whoami relays no call',
    '/path has no meaning here: whoami relays no call',
  ]);
  const explained = async (question: object): Promise<unknown> => (await ask('admin', '/access/explain', question)).json();
  assert.deepEqual(await explained({ principal: 'noc', route: 'listAdapters' }), {
    allowed: false,
    rule: 'roles of listAdapters',
    approvals: [],
    reason:
      'The caller gets 403 forbidden: This needs the role admin; you have noc. An operator can add admin to your roles. No right of your own roles allows it: role noc, allows[0] has another route.',
  });
  assert.deepEqual(await explained({ roles: ['other', 'admin'], route: 'explainAccess' }), {
    allowed: true,
    rule: 'role admin',
    approvals: [],
    reason: 'The role admin allows this.',
  });
  assert.deepEqual(await explained({ roles: [], route: 'whoami' }), {
    allowed: true,
    rule: 'callers',
    approvals: [],
    reason: 'Every authenticated caller may call it.',
  });
});

test('a reload puts changed rights in force', async () => {
  far.answer(() => jsonReply('{}'));
  const asked = { route: 'restQuery', adapter: 'Other', path: 'restconf/data/x' };
  assertProblem(await call('noc', asked), 403, 'forbidden');
  const { settings } = await reloadWith(gateway, withRoles([{ name: 'noc', allows: [{}] }, { name: 'caller' }]));
  assert.deepEqual(settings, ['access.roles']);
  assert.equal((await call('noc', asked)).status, 200);
  await reloadWith(gateway, withRoles(roles));
  assertProblem(await call('noc', asked), 403, 'forbidden');
});
