import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, type Gateway, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// People with rights to some workflows and adapter instances (access.roles), and what they try beyond them.

const everything = `listAutomations readAutomation createAutomation replaceAutomation patchAutomation deleteAutomation importAutomations
  exportAutomations listWorkflows readWorkflow createWorkflow checkWorkflow deleteWorkflow takeWorkflow runAutomation listRuns readRun rerunRun`;
const roles = [
  {
    name: 'noc',
    allows: [
      { routes: everything.split(/\s+/u), workflows: ['noc.*'] },
      { routes: ['restQuery'], adapters: ['NSO A'], via: ['run'] },
      { routes: ['restRequest'], adapters: ['NSO A'], methods: ['PATCH'], paths: ['devices/**'], via: ['run'] },
      { routes: ['restCall'], destinations: ['tickets.example.net'], methods: ['POST'], via: ['run'] },
    ],
  },
  { name: 'previewer', allows: [{ routes: ['preview', 'restRequest'], adapters: ['NSO A'] }] },
  { name: 'decider', allows: [{ routes: ['decideRun'], workflows: ['noc.*'] }] },
  { name: 'resumer', allows: [{ routes: ['resumeRun'], workflows: ['noc.*'] }] },
  { name: 'runner', allows: [{ routes: ['runAutomation'], workflows: ['noc.*'] }] },
];
const users = roles.map(({ name }) => ({ username: name, passwordHash: testPasswordHash, roles: [name], groups: ['team'] }));
const far = { kind: 'nso', url: 'http://127.0.0.1:9', auth: { type: 'none' } };

function document(id: string, tasks: readonly object[], version = '1.0.0'): object {
  const [namespace, name] = id.split('.');
  return { document: { dsl: '1.0.3', namespace, name, version }, do: tasks.map((task, index) => ({ [`t${index}`]: task })) };
}

const harmless = [{ set: { a: 1 } }];
const params = { path: 'devices/device=a', accept: 'a/b' };
const query = (adapter: string) => ({ call: 'orchestratorQuery', with: { adapter, params } });
const change = (path: string, method = 'PATCH') => ({
  call: 'orchestratorRequest',
  with: { adapter: 'NSO A', params: { ...params, method, path }, body: {} },
});
const runs = (namespace: string, name: string) => ({ run: { workflow: { namespace, name, version: '1.0.0' } } });

eachStore((store) => {
  let gateway: Gateway;
  const cleanups: (() => unknown)[] = [];
  const ids: Record<string, string> = {};

  before(async () => {
    const owner = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) };
    const config = { store: { url: storeUrl(await store.empty(owner)) }, access: { roles } };
    gateway = await startGateway(owner, {
      users,
      config,
      adapters: [
        { ...far, name: 'NSO A' },
        { ...far, name: 'NSO B' },
      ],
    });
    for (const id of ['noc.check', 'sec.change', 'Noc.check'])
      assert.equal((await stored('admin', id, id === 'sec.change' ? [query('NSO B')] : harmless)).status, 201);
    for (const [name, data] of Object.entries({
      covered: { workflowId: 'noc.check' },
      other: { workflowId: 'sec.change' },
      'other case': { workflowId: 'Noc.check' },
      without: {},
      unseen: { workflowId: 'noc.check', gbac: { read: ['secret'], write: [] } },
      unwritable: { workflowId: 'noc.check', gbac: { read: [], write: ['secret'] } },
      'of a run': { workflowId: 'noc.check' },
    })) {
      const reply = await send('admin', 'POST', '/automation_catalog/automations', { name, data });
      assert.equal(reply.status, 201, reply.text);
      ids[name] = (reply.json() as { _id: string })._id;
    }
    for (const name of ['of a run', 'other']) ids[`run of ${name}`] = await started(name);
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  function send(user: string, method: string, target: string, body?: object | string, type = 'application/json'): Promise<Reply> {
    const Authorization = user === 'admin' ? gateway.basicFor('admin') : basic(user, testPassword);
    if (body === undefined) return gateway.send({ method, target, headers: { Authorization } });
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return gateway.send({ method, target, headers: { Authorization, 'Content-Type': type }, body: text });
  }

  function stored(user: string, id: string, tasks: readonly object[], version?: string): Promise<Reply> {
    return send(user, 'POST', '/automation_catalog/workflows', document(id, tasks, version));
  }

  async function started(name: string): Promise<string> {
    const reply = await send('admin', 'POST', `/automation_catalog/automations/${ids[name]}/run`, {});
    assert.equal(reply.status, 201, reply.text);
    const { id } = reply.json() as { id: string };
    await until('the run ended', async () => /completed|faulted/u.test((await send('admin', 'GET', `/runs/${id}`)).text));
    return id;
  }

  const names = (reply: Reply): readonly string[] =>
    (reply.json() as { list: { name: string }[] }).list.map(({ name }) => name).toSorted();
  const at = (name: string): string => `/automation_catalog/automations/${ids[name] ?? ''}`;

  /** The problem, without what differs between any two requests. */
  const answer = (reply: Reply): unknown => ({ ...(reply.json() as object), instance: '', requestId: '' });

  describe('a right that is limited to workflows', () => {
    test('shows in lists what it covers, with any order and any filter', async () => {
      for (const options of [
        '',
        '?sort=data.lastUpdated&order=-1',
        '?contains=n&containsField=data.workflowId',
        '?sort=data.workflowId',
        '?limit=50',
      ])
        assert.deepEqual(names(await send('noc', 'GET', `/automation_catalog/automations${options}`)), [
          'covered',
          'of a run',
          'unwritable',
        ]);
      const workflows = (await send('noc', 'GET', '/automation_catalog/workflows')).json() as {
        list: { id: string }[];
        total: number;
      };
      assert.deepEqual([workflows.list.map(({ id }) => id), workflows.total], [['noc.check'], 1]);
      const exported = (await send('noc', 'GET', '/automation_catalog/export?kind=automation')).text.trim().split('\n');
      const exportedNames = exported.map((line) => (JSON.parse(line) as { document: { name: string } }).document.name);
      assert.deepEqual(exportedNames.toSorted(), ['covered', 'of a run', 'unwritable']);
      const listed = (await send('noc', 'GET', '/runs')).json() as { list: { id: string }[] };
      assert.deepEqual(
        listed.list.map(({ id }) => id),
        [ids['run of of a run']],
      );
    });

    test('answers what it does not cover like what does not exist', async () => {
      for (const name of ['other', 'other case', 'without', 'unseen'])
        for (const [method, part, body] of [
          ['GET', ''],
          ['PUT', '', { name: 'x' }],
          ['PATCH', '', {}],
          ['DELETE', ''],
          ['POST', '/run', {}],
        ] as const)
          assertProblem(await send('noc', method, `${at(name)}${part}`, body), 404, 'automation-not-found');
      for (const id of ['sec.change', 'Noc.check', 'sec.none'])
        for (const method of ['GET', 'DELETE'])
          assertProblem(await send('noc', method, `/automation_catalog/workflows/${id}`), 404, 'workflow-not-found');
      assertProblem(await send('noc', 'GET', `/runs/${ids['run of other']}`), 404, 'run-not-found');
    });

    test('replaces no groups of an automation', async () => {
      assertProblem(await send('noc', 'PATCH', at('unwritable'), { name: 'x' }), 403, 'forbidden');
      assertProblem(await send('noc', 'POST', `${at('unwritable')}/run`, {}), 403, 'forbidden');
    });

    test('lets no caller move an automation to another workflow, or make one without', async () => {
      for (const data of [{ workflowId: 'sec.change' }, { workflowId: 'Noc.check' }, {}]) {
        assertProblem(await send('noc', 'POST', '/automation_catalog/automations', { name: 'new', data }), 403, 'forbidden');
        assertProblem(await send('noc', 'PUT', at('covered'), { name: 'covered', data }), 403, 'forbidden');
      }
      assertProblem(await send('noc', 'PATCH', at('covered'), { data: { workflowId: null } }), 403, 'forbidden');
      const data = { workflowId: 'noc.check' };
      const reply = await send('noc', 'POST', '/automation_catalog/automations', { name: 'made by noc', data });
      assert.equal(reply.status, 201, reply.text);
      assert.equal(
        (await send('noc', 'DELETE', `/automation_catalog/automations/${(reply.json() as { _id: string })._id}`)).status,
        204,
      );
    });

    test('judges each line of an import like a single write', async () => {
      const lines = [
        { name: 'imported', data: { workflowId: 'noc.check' } },
        { name: 'taken over', _id: ids['other'], data: { workflowId: 'noc.check' } },
        { name: 'elsewhere', data: { workflowId: 'sec.change' } },
      ].map((line) => JSON.stringify({ lastModifiedBy: 'noc', ...line }));
      const all = await send('noc', 'POST', '/automation_catalog/import', lines.join('\n'), 'application/x-ndjson');
      const { errors = [] } = assertProblem(all, 403, 'forbidden');
      assert.deepEqual(
        errors.map(({ pointer }) => pointer),
        ['/2', '/3'],
      );
      assert.equal((await send('admin', 'GET', at('other'))).status, 200);
      const one = await send('noc', 'POST', '/automation_catalog/import', lines[0] ?? '', 'application/x-ndjson');
      assert.equal(one.status, 200, one.text);
    });

    test('is about the workflow of a run, though its automation names another one by now', async () => {
      assert.equal((await send('admin', 'PATCH', at('of a run'), { data: { workflowId: 'sec.change' } })).status, 200);
      const run = ids['run of of a run'] ?? '';
      assertProblem(await send('noc', 'GET', at('of a run')), 404, 'automation-not-found');
      assert.equal((await send('noc', 'GET', `/runs/${run}`)).status, 200);
      assertProblem(await send('noc', 'GET', `/runs/${await started('of a run')}`), 404, 'run-not-found');
    });

    test('to decide is a right of its own, which resuming does not include', async () => {
      const run = `/runs/${ids['run of of a run']}`;
      const decision = { task: '1', as: 'done', reason: 'seen' };
      assertProblem(await send('decider', 'POST', `${run}/decide`, decision), 409, 'run-conflict');
      assertProblem(await send('decider', 'POST', `${run}/resume`, decision), 404, 'run-not-found');
      assertProblem(await send('resumer', 'POST', `${run}/decide`, decision), 403, 'forbidden');
      assertProblem(await send('resumer', 'POST', `${run}/resume`, decision), 404, 'run-not-found');
      assertProblem(await send('resumer', 'POST', `${run}/resume`, {}), 409, 'run-conflict');
      assertProblem(await send('decider', 'POST', `/runs/${ids['run of other']}/decide`, decision), 404, 'run-not-found');
    });
  });

  describe('a workflow that is written by rights', () => {
    test('may have the calls that they name for runs, which its writer may not make by hand', async () => {
      const allowed = [
        query('NSO A'),
        change('devices/device=a'),
        change('${ .path }'),
        { emit: { event: { with: { type: 'a.b', source: 'https://a.example' } } } },
      ];
      const ticket = { call: 'restCall', with: { uri: 'https://tickets.example.net/new', verb: 'POST' } };
      const reply = await stored('noc', 'noc.allowed', [...allowed, ticket, runs('noc', 'check')]);
      assert.equal(reply.status, 201, reply.text);
      const byHand = await send('noc', 'POST', '/orchestrator_manager/restQuery/NSO%20A', { params });
      assert.match(assertProblem(byHand, 403, 'forbidden').detail, /allows\[1\] has another entrance/u);
    });

    test('lists each call that they do not name, with its place; check and explain say the same', async () => {
      const calls: readonly (readonly [object, RegExp])[] = [
        [query('NSO B'), /another adapter instance/u],
        [query('NSO Z'), /another adapter instance/u],
        [query('${ .adapter }'), /the adapter instance as a text without an expression/u],
        [change('devices/device=a', '${ .method }'), /the method as a text without an expression/u],
        [change('other'), /another path/u],
        [change('devices/device=a', 'DELETE'), /another method/u],
        [{ call: 'restCall', with: { uri: 'https://other.example.net', verb: 'POST' } }, /another destination/u],
        [{ call: 'http', with: { method: 'GET', endpoint: 'https://tickets.example.net' } }, /another method/u],
        [{ set: { a: 1 }, input: { schema: { resource: { endpoint: 'https://a.example/s.json' } } } }, /another method/u],
        [runs('sec', 'change'), /runs sec\.change 1\.0\.0: it does not exist, or you may not see it/u],
        [runs('sec', 'none'), /runs sec\.none 1\.0\.0: it does not exist, or you may not see it/u],
      ];
      const tasks = calls.map(([task]) => task);
      const refused = assertProblem(await stored('noc', 'noc.refused', tasks), 403, 'forbidden').errors ?? [];
      const found = new Map(refused.map(({ pointer, detail }) => [pointer.replace(/\/input\/schema$/u, ''), detail]));
      for (const [index, [task, detail]] of calls.entries())
        assert.match(found.get(`/do/${index}/t${index}`) ?? '', detail, JSON.stringify(task));
      assert.equal(refused.length, calls.length);
      const text = JSON.stringify(document('noc.refused', tasks));
      const checked = (await send('noc', 'POST', '/automation_catalog/workflows/check', text)).json() as { errors: unknown };
      assert.deepEqual(checked.errors, refused);
      const explained = await send('admin', 'POST', '/access/explain', {
        principal: 'noc',
        route: 'createWorkflow',
        workflow: text,
      });
      const { allowed, errors } = explained.json() as { allowed: boolean; errors: unknown };
      assert.deepEqual({ allowed, errors }, { allowed: false, errors: refused });
      const byAdmin = await send('admin', 'POST', '/access/explain', {
        roles: ['admin'],
        route: 'createWorkflow',
        workflow: text,
      });
      assert.equal((byAdmin.json() as { allowed: boolean }).allowed, true, byAdmin.text);
    });

    test('is no newer version of one that they do not let its writer write', async () => {
      assert.equal((await stored('admin', 'noc.mixed', [query('NSO B')])).status, 201);
      for (const version of ['1.1.0', '2.0.0-dev.1', '0.9.0']) {
        const refused = assertProblem(await stored('noc', 'noc.mixed', harmless, version), 403, 'forbidden');
        assert.match(refused.detail, /its stored version 1\.0\.0 calls orchestratorQuery/u);
      }
      assertProblem(await send('noc', 'DELETE', '/automation_catalog/workflows/noc.mixed'), 403, 'forbidden');
      const data = { workflowId: 'noc.mixed' };
      assertProblem(await send('noc', 'POST', '/automation_catalog/automations', { name: 'mixed', data }), 403, 'forbidden');
      assertProblem(await stored('noc', 'sec.change', harmless, '3.0.0'), 403, 'forbidden');
      assert.deepEqual(answer(await stored('noc', 'sec.change', harmless)), answer(await stored('noc', 'sec.change', harmless)));
    });

    test('is taken by a principal that may make each of its calls, and by no other', async () => {
      assert.equal((await stored('admin', 'noc.far', [query('NSO B')])).status, 201);
      const take = (id: string): Promise<Reply> => send('noc', 'POST', `/automation_catalog/workflows/${id}/take`);
      const { errors = [] } = assertProblem(await take('noc.far'), 403, 'forbidden');
      assert.deepEqual(
        errors.map(({ pointer }) => pointer),
        ['/do/0/t0'],
      );
      assertProblem(await take('sec.change'), 404, 'workflow-not-found');
      const taken = await take('noc.check');
      assert.deepEqual([taken.status, taken.json()], [200, { id: 'noc.check', versions: ['1.0.0'] }]);
    });

    test('is run in another version by a principal that may write it, and by no other', async () => {
      const version = '1.0.0';
      const chosen = await send('noc', 'POST', `${at('covered')}/run`, { version });
      assert.equal(chosen.status, 201, chosen.text);
      const newest = await send('runner', 'POST', `${at('covered')}/run`, {});
      assert.equal(newest.status, 201, newest.text);
      const refused = await send('runner', 'POST', `${at('covered')}/run`, { version });
      assert.match(assertProblem(refused, 403, 'forbidden').detail, /writing it needs a role or a right to store it/u);
    });
  });

  test('an adapter instance that the caller may not use is answered like one that does not exist', async () => {
    const body = { params: { ...params, method: 'PUT' } };
    const of = async (name: string) =>
      assertProblem(
        await send('previewer', 'POST', `/orchestrator_manager/preview/NSO%20${name}`, body),
        404,
        'adapter-not-found',
      );
    assert.equal((await of('B')).detail.replace('NSO B', 'NSO Z'), (await of('Z')).detail);
    assert.match((await of('B')).detail, /There are: "NSO A"\.$/u);
  });
});
