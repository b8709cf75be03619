// suite: long, waiting

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import {
  basic as basicOf,
  type Gateway,
  type GatewayProcess,
  startGateway,
  startGatewayProcess,
  testPassword,
  testPasswordHash,
} from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import type { Owner } from './support/owner.ts';
import { secretConfig } from './support/runs/sealed-secret.ts';
import { eachStoreWith, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { type FarHandler, jsonReply, upstream } from './support/upstreams/upstream.ts';

// What each task of a run got and gave: docs/guides/operating-runs.md.

const user = (username: string, roles: readonly string[], groups: readonly string[] = []) => ({
  username,
  passwordHash: testPasswordHash,
  roles,
  groups,
});

const users = [
  user('ann', ['admin'], ['noc']),
  user('wil', ['engineering'], ['noc']),
  user('ron', ['runner'], ['noc']),
  user('rob', ['runner'], ['noc']),
  user('eva', ['readonly'], ['noc']),
  user('dan', ['reader'], ['noc']),
  user('zoe', ['readonly'], ['other']),
];

const roles = [
  { name: 'runner', allows: [{ routes: ['readAutomation', 'runAutomation', 'readRun', 'listRunTasks'] }] },
  {
    name: 'reader',
    allows: [{ routes: ['readRun', 'listRunTasks', 'readTask', 'readTaskData'], workflows: ['lab.*'] }],
  },
];

interface Task {
  readonly id: string;
  readonly name: string;
  readonly reference: string;
  readonly status: string;
  readonly label?: string;
  readonly noData?: string;
}

interface Data {
  readonly input?: string;
  readonly arguments?: string;
  readonly output?: string;
  readonly truncated?: readonly string[];
  readonly noData?: string;
}

interface Options {
  readonly kills?: boolean;
  readonly automations?: object;
  readonly answer?: FarHandler;
}

/** A gateway with a store of its own, and what its people ask. */
async function lab(owner: Owner, store: TestStore, { kills = false, automations = {}, answer }: Options = {}) {
  const far = await upstream(owner);
  far.answer(answer ?? (() => jsonReply('{"done":true}')));
  const options = {
    users,
    config: {
      access: { roles },
      outbound: { allow: [far.authority] },
      store: { url: storeUrl(await store.fresh(owner)) },
      automations,
    },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    environment: { TOKEN: 'hush-hush-hush' },
  };
  let gateway: Gateway | GatewayProcess = await (kills ? startGatewayProcess : startGateway)(owner, options);
  const ask = async (who: string, method: string, target: string, body?: unknown): Promise<Reply> =>
    await gateway.send({
      method,
      target,
      headers: { Authorization: basicOf(who, testPassword), ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const wanted = async <T>(who: string, method: string, target: string, body?: unknown): Promise<T> => {
    const reply = await ask(who, method, target, body);
    assert.ok(reply.status < 300, `${method} ${target}: ${reply.text}`);
    return reply.json() as T;
  };
  const automation = async (name: string, document: Readonly<Record<string, unknown>>, data: object = {}): Promise<string> => {
    const head = { document: { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' } };
    await wanted('ann', 'POST', '/automation_catalog/workflows', { ...head, ...document });
    const { document: named } = { ...head, ...document };
    const body = { name, data: { workflowId: `lab.${named.name}`, ...data } };
    return (await wanted<{ readonly _id: string }>('ann', 'POST', '/automation_catalog/automations', body))._id;
  };
  const start = async (id: string, input: object = {}, who = 'ann'): Promise<string> =>
    (await wanted<{ readonly id: string }>(who, 'POST', `/automation_catalog/automations/${id}/run`, { input })).id;
  const reaches = async (run: string, status: string): Promise<void> => {
    await until(`the run is ${status}`, async () => {
      const now = await wanted<{ readonly status: string; readonly error?: object }>('ann', 'GET', `/runs/${run}`);
      assert.ok(now.status === status || !['faulted', 'cancelled'].includes(now.status), JSON.stringify(now.error));
      return now.status === status;
    });
  };
  const tasks = async (run: string, query = ''): Promise<readonly Task[]> =>
    (await wanted<{ readonly list: readonly Task[] }>('ann', 'GET', `/runs/${run}/tasks${query}`)).list;
  const data = async (run: string, name: string): Promise<Data> => {
    const task = (await tasks(run, '?limit=1000')).find((one) => one.name === name);
    return await wanted<Data>('ann', 'GET', `/runs/${run}/tasks/${task?.id}/data`);
  };
  const ran = async (document: Readonly<Record<string, unknown>>, input: object = {}, more: object = {}): Promise<string> => {
    const run = await start(await automation(`flow-${crypto.randomUUID().slice(0, 8)}`, document, more), input);
    await reaches(run, 'completed');
    return run;
  };
  const killAndRestart = async (): Promise<void> => {
    assert.ok('pid' in gateway);
    await gateway.stop('SIGKILL');
    gateway = await gateway.restart();
  };
  const reload = (next: object) =>
    reloadWith(gateway, { ...options, config: { ...options.config, automations: { ...automations, ...next } } });
  return { far, ask, wanted, automation, start, reaches, tasks, data, ran, killAndRestart, reload };
}

const params = { path: 'act', accept: 'application/json' };

eachStoreWith({ concurrency: 3 }, (store) => {
  test('each task has its input, arguments and output, and the tasks of a loop have the label of their turn', async (t) => {
    const { ran, data, tasks, wanted } = await lab(t, store);
    const run = await ran(
      {
        do: [
          { double: { set: { n: '${ .n * 2 }', digits: 1.5 } } },
          { act: { call: 'orchestratorAction', with: { adapter: 'Far', params, body: { n: '${ .n }' } } } },
          {
            each: {
              for: { in: '${ ["r7", {"name":"r8"}] }', each: 'device' },
              do: [{ turn: { set: { device: '${ $device }' } } }],
            },
          },
        ],
      },
      { n: 21 },
    );
    assert.deepEqual(await data(run, 'double'), { input: '{"n":21}', output: '{"n":42,"digits":1.5}' });
    const act = await data(run, 'act');
    assert.deepEqual(JSON.parse(act.arguments ?? ''), { adapter: 'Far', params, body: { n: 42 } });
    assert.deepEqual([act.input, act.output], ['{"n":42,"digits":1.5}', '{"done":true}']);
    const all = await tasks(run);
    assert.deepEqual(
      all.map(({ name, label, noData }) => [name, label, noData]),
      [
        ['double', undefined, undefined],
        ['act', undefined, undefined],
        ['each', undefined, undefined],
        ['turn', 'r7', undefined],
        ['turn', '{"name":"r8"}', undefined],
      ],
    );
    const turn = all.find(({ label }) => label === 'r7');
    assert.deepEqual(await wanted('ann', 'GET', `/runs/${run}/tasks/${turn?.id}`), turn);
    const names = async (query: string) => (await tasks(run, query)).map(({ name, label }) => `${name} ${label ?? ''}`);
    assert.deepEqual(await names('?search=R7'), ['turn r7']);
    assert.deepEqual(await names('?search=r8&status=completed'), ['turn {"name":"r8"}']);
    assert.deepEqual(await names('?search=r8&status=faulted'), []);
    assert.deepEqual(await names('?reference=/do/1/act'), ['act ']);
    assert.deepEqual(await names('?reference=/do/1'), []);
  });

  test('starter, authors, admins, writers of the workflow and a right read task data, and no others', async (t) => {
    const { automation, start, reaches, ask } = await lab(t, store);
    const document = { do: [{ first: { set: { a: 1 } } }] };
    const gbac = { read: ['noc'], write: [] };
    const run = await start(await automation('who', document, { gbac }), {}, 'ron');
    await reaches(run, 'completed');
    const codes = async (path: string): Promise<Readonly<Record<string, number>>> => {
      const found: Record<string, number> = {};
      for (const { username } of users) found[username] = (await ask(username, 'GET', `/runs/${run}/tasks/1${path}`)).status;
      return found;
    };
    // `wil` may write the workflow, `ron` started the run, `dan` has the right, and `rob` and `eva` see the run alone.
    assert.deepEqual(await codes('/data'), { ann: 200, wil: 200, ron: 200, rob: 403, eva: 403, dan: 200, zoe: 404 });
    assert.deepEqual(await codes(''), { ann: 200, wil: 200, ron: 200, rob: 200, eva: 200, dan: 200, zoe: 404 });
    assertProblem(await ask('eva', 'GET', `/runs/${run}/tasks/1/data`), 403, 'forbidden');
    assertProblem(await ask('zoe', 'GET', `/runs/${run}/tasks/1/data`), 404, 'run-not-found');
    for (const id of ['2', '0', '-1', '1.5', 'x', '99999999999']) {
      assertProblem(await ask('ann', 'GET', `/runs/${run}/tasks/${id}`), 404, 'task-not-found');
      assertProblem(await ask('ann', 'GET', `/runs/${run}/tasks/${id}/data`), 404, 'task-not-found');
    }
  });

  test('no data has a credential, a password of a form under any name, or a secret of the workflow', async (t) => {
    const { ran, tasks, wanted, automation, far } = await lab(t, store, {
      automations: {
        secrets: { token: secretConfig({ env: 'TOKEN' }, { adapters: ['Far'], places: ['body'], workflows: ['lab.*'] }) },
      },
      answer: () =>
        jsonReply('{"echo":"hush-hush-hush","password":"from-the-device"}', { headers: { 'Set-Cookie': 'sid=cookie-value' } }),
    });
    await wanted('ann', 'PUT', '/automation_catalog/forms/login', {
      type: 'object',
      properties: { device: { type: 'string' }, enable: { type: 'string', format: 'password' } },
    });
    await automation('inner', { do: [{ inside: { set: { again: '${ .renamed }', list: ['${ .renamed }'] } } }] });
    const basic = { username: 'u', password: 'basic-value' };
    const headers = { 'X-Auth-Token': 'token-value', Accept: 'application/json' };
    const run = await ran(
      {
        use: { secrets: ['token'] },
        do: [
          { rename: { set: { renamed: '${ .enable }', text: '${ "enable secret " + .enable }' } } },
          {
            act: {
              call: 'orchestratorAction',
              with: { adapter: 'Far', params, output: 'response', body: { t: '${ $secrets.token }', pass: '${ .renamed }' } },
              output: { as: '${ {content: .content, renamed: $input.renamed} }' },
            },
          },
          {
            get: {
              call: 'http',
              with: { method: 'get', endpoint: { uri: `${far.url}/x`, authentication: { basic } }, headers },
              output: { as: '${ {got: ., renamed: $input.renamed} }' },
            },
          },
          {
            bearer: {
              call: 'http',
              with: { method: 'get', endpoint: { uri: `${far.url}/y` }, headers: { authorization: 'Bearer bearer-value' } },
              output: { as: '${ {got: ., renamed: $input.renamed} }' },
            },
          },
          { turns: { for: { in: '${ [.renamed] }' }, do: [{ turn: { set: { password: 'literal-value' } } }] } },
          {
            child: {
              run: {
                workflow: {
                  namespace: 'lab',
                  name: 'inner',
                  version: '1.0.0',
                  input: { renamed: '${ $workflow.input.enable }' },
                },
              },
            },
          },
        ],
      },
      { device: 'r7', enable: 'correct-horse' },
      { formId: 'login' },
    );
    const texts: string[] = [];
    const { list: runs } = await wanted<{ readonly list: readonly { readonly id: string }[] }>('ann', 'GET', '/runs');
    assert.equal(runs.length, 2);
    for (const { id } of runs)
      for (const task of await tasks(id)) {
        texts.push(JSON.stringify(task));
        texts.push(JSON.stringify(await wanted('ann', 'GET', `/runs/${id}/tasks/${task.id}/data`)));
      }
    assert.ok(texts.length >= 14, String(texts.length));
    assert.ok(runs.some(({ id }) => id === run));
    const values = ['correct-horse', 'hush-hush-hush', 'bearer-value', 'token-value', 'basic-value', 'literal-value'];
    for (const text of texts)
      for (const value of [...values, 'cookie-value', 'from-the-device']) assert.ok(!text.includes(value), `${value} in ${text}`);
    assert.ok(texts.some((text) => text.includes('enable secret ***')));
    assert.ok(texts.some((text) => text.includes('r7')));
  });

  test('no reply with a run has a password of its form, and a repetition still has its value', async (t) => {
    const { far, ask, wanted, automation, start, reaches } = await lab(t, store);
    await wanted('ann', 'PUT', '/automation_catalog/forms/login', {
      type: 'object',
      properties: { device: { type: 'string' }, enable: { type: 'string', format: 'password' } },
    });
    await automation('inner', { do: [{ inside: { set: { again: '${ .renamed }' } } }] });
    const inner = { namespace: 'lab', name: 'inner', version: '1.0.0', input: { renamed: '${ .enable }' } };
    const act = { call: 'orchestratorAction', with: { adapter: 'Far', params, body: { pass: '${ $workflow.input.enable }' } } };
    const tasks = [{ child: { run: { workflow: inner } } }, { act }];
    const as = '${ {n: 1.50, said: ("enable " + $workflow.input.enable), again: $workflow.input} }';
    const flow = await automation(
      'login',
      { do: tasks, output: { as } },
      { formId: 'login', gbac: { write: ['noc'], read: [] } },
    );
    const target = `/automation_catalog/automations/${flow}/run`;
    const input = { device: 'r7', enable: 'correct-horse' };
    const started = await ask('ann', 'POST', target, { input });
    assert.equal(started.status, 201, started.text);
    const { id } = started.json() as { readonly id: string };
    await reaches(id, 'completed');
    const shown = await ask('ron', 'GET', `/runs/${id}`);
    assert.match(shown.text, /"input":\{"device":"r7","enable":"\*\*\*"\}/u);
    const masked = '"said":"enable \\*\\*\\*","again":\\{"device":"r7","enable":"\\*\\*\\*"\\}';
    assert.match(shown.text, new RegExp(`"output":\\{"n":1\\.50,${masked}\\}`, 'u'));
    const { list } = await wanted<{ readonly list: readonly { readonly id: string }[] }>('ann', 'GET', `/runs?parent=${id}`);
    const ofChild = await ask('ann', 'GET', `/runs/${list[0]?.id}`);
    assert.match(ofChild.text, /"input":\{"renamed":"\*\*\*"\}/u);
    const again = await ask('ron', 'POST', `/runs/${id}/rerun`, {});
    const { id: second } = again.json() as { readonly id: string };
    await reaches(second, 'completed');
    const elsewhere = await ask('ron', 'POST', `/runs/${id}/rerun`, { input: { device: 'r8', enable: '***' } });
    assertProblem(elsewhere, 400, 'invalid-request');
    assert.match(elsewhere.text, /"pointer":"\/enable","detail":"is what the gateway shows in place of a password/u);
    const short = await start(flow, { device: 'r7', enable: 'pin' });
    const held = await ask('ann', 'POST', `/runs/${short}/suspend`);
    for (const { text } of [started, shown, ofChild, again, held]) assert.doesNotMatch(text, /correct-horse|"enable":"pin"/u);
    assert.deepEqual(
      far.requests.slice(0, 2).map(({ body }) => body.toString()),
      ['{"pass":"correct-horse"}', '{"pass":"correct-horse"}'],
    );
  });

  test('no error of a run, of its tasks or of its events has a password of its form', async (t) => {
    const { ask, wanted, automation, start, reaches } = await lab(t, store);
    await wanted('ann', 'PUT', '/automation_catalog/forms/refused', {
      type: 'object',
      properties: { enable: { type: 'string', format: 'password' } },
    });
    const error = { type: 'https://example.net/refused', status: 403, detail: '${ "refused " + $workflow.input.enable }' };
    const flow = await automation(
      'refused',
      { do: [{ stop: { raise: { error } } }] },
      { formId: 'refused', gbac: { write: ['noc'], read: [] } },
    );
    const id = await start(flow, { enable: 'correct-horse' });
    await reaches(id, 'faulted');
    for (const target of [`/runs/${id}`, '/runs', `/runs/${id}/tasks`, `/runs/${id}/events`]) {
      const { text } = await ask('ann', 'GET', target);
      assert.match(text, /refused \*\*\*/u, target);
      assert.doesNotMatch(text, /correct-horse/u, target);
    }
  });

  test('a part of more than 64 KiB is cut after a whole character, and says so', async (t) => {
    const text = JSON.stringify({ text: 'é'.repeat(3_500_000) });
    const answer: FarHandler = ({ target }) => jsonReply(target.endsWith('long') ? text : `[${text},"${'x'.repeat(3_500_000)}"]`);
    const { ran, data } = await lab(t, store, { answer });
    const query = (path: string) => ({ call: 'orchestratorQuery', with: { adapter: 'Far', params: { ...params, path } } });
    const tooLong = { errors: { with: { status: 500 } }, do: [{ ignore: { set: { ignored: true } } }] };
    const run = await ran({
      do: [
        { long: query('long') },
        { password: { set: { password: 'literal', after: 'x' } } },
        { edge: { set: '${ "a" * 65534 }' } },
        { attempt: { try: [{ longer: query('longer') }], catch: tooLong } },
      ],
    });
    const long = await data(run, 'long');
    assert.deepEqual([long.truncated, Buffer.byteLength(long.output ?? '') <= 65_536], [['output'], true]);
    assert.match(long.output ?? '', /^\{"text":"é+$/u);
    assert.ok(Buffer.byteLength(long.output ?? '') > 65_530);
    const password = await data(run, 'password');
    assert.deepEqual([password.truncated, password.output], [['input'], '{"password":"***","after":"x"}']);
    const edge = await data(run, 'edge');
    assert.deepEqual([edge.truncated, edge.output?.length], [undefined, 65_536]);
    const longer = await data(run, 'longer');
    assert.deepEqual(Object.keys(longer), ['input', 'arguments']);
  });

  test('taskData false of the configuration, of a document and of a task keeps nothing, labels included', async (t) => {
    const { ran, tasks, data, reload, wanted } = await lab(t, store);
    const loop = (more: object) => ({ for: { in: '${ ["private"] }' }, do: [{ turn: { set: { a: 1 } } }], ...more });
    const kept = { kept: { set: { b: 2 } } };
    const none = async (run: string, names: readonly string[]): Promise<void> => {
      for (const name of names) assert.deepEqual(await data(run, name), { noData: 'off' }, name);
      for (const task of (await tasks(run)).filter(({ name }) => names.includes(name)))
        assert.deepEqual([task.label, task.noData], [undefined, 'off']);
    };
    const byTask = await ran({ do: [{ loop: loop({ metadata: { taskData: false, mine: 1 } }) }, kept] });
    await none(byTask, ['loop', 'turn']);
    assert.equal((await data(byTask, 'kept')).output, '{"b":2}');
    const head = {
      document: { dsl: '1.0.3', namespace: 'lab', name: 'private', version: '1.0.0', metadata: { taskData: false } },
    };
    const act = { act: { call: 'orchestratorAction', with: { adapter: 'Far', params } } };
    await none(await ran({ ...head, do: [{ loop: loop({}) }, act, kept] }), ['loop', 'turn', 'act', 'kept']);
    await reload({ taskData: false });
    await none(await ran({ do: [{ loop: loop({}) }, act, kept] }), ['loop', 'turn', 'act', 'kept']);
    const check = await wanted<{ readonly errors?: readonly { readonly pointer: string }[] }>(
      'ann',
      'POST',
      '/automation_catalog/workflows/check',
      { ...head, do: [{ loop: loop({ metadata: { taskData: 'false' } }) }] },
    );
    assert.deepEqual(
      check.errors?.map(({ pointer }) => pointer),
      ['/do/0/loop/metadata/taskData'],
    );
  });

  test('task data of the oldest ended runs makes room for the starts of a person', async (t) => {
    const { automation, start, reaches, data, tasks, ask } = await lab(t, store, { automations: { storePerPerson: '1MiB' } });
    const id = await automation('big', { do: [{ big: { set: { text: '${ "x" * 60000 }' } } }, { rest: { set: { a: 1 } } }] });
    const runs: string[] = [];
    // Each keeps some 120 KB of data, and as much of its output is not there: the last task is short.
    for (let count = 0; count < 16; count += 1) {
      runs.push(await start(id, { count }));
      await reaches(runs.at(-1) ?? '', 'completed');
      if (count % 4 === 3) await lapse(5_100, 'the sum of a person counts for five seconds');
    }
    const [first = '', last = ''] = [runs[0], runs.at(-1)];
    assert.deepEqual(await data(first, 'big'), { noData: 'removed' });
    assert.deepEqual(
      (await tasks(first)).map(({ noData }) => noData),
      ['removed', 'removed'],
    );
    assert.equal((await data(last, 'rest')).output, '{"a":1}');
    assert.equal((await ask('ann', 'GET', `/runs/${first}`)).status, 200);
  });
});

eachStoreWith({ concurrency: 2 }, (store) => {
  test('after a crash with a call in flight, its task still has its input, its arguments and its output', async (t) => {
    let isHeld = true;
    const { automation, start, reaches, data, killAndRestart, far } = await lab(t, store, {
      kills: true,
      answer: () => (isHeld ? undefined : jsonReply('{"found":"é"}')),
    });
    const query = { call: 'orchestratorQuery', with: { adapter: 'Far', params } };
    const id = await automation('crash', {
      do: [{ before: { set: { a: 1 } } }, { query }, { after: { set: { b: '${ .found }' } } }],
    });
    const run = await start(id);
    await until('the call is in flight', () => far.requests.length === 1);
    isHeld = false;
    await killAndRestart();
    await reaches(run, 'completed');
    assert.deepEqual(await data(run, 'before'), { input: '{}', output: '{"a":1}' });
    const called = await data(run, 'query');
    assert.deepEqual([called.input, called.output], ['{"a":1}', '{"found":"é"}']);
    assert.deepEqual(JSON.parse(called.arguments ?? ''), { adapter: 'Far', params });
    assert.deepEqual(await data(run, 'after'), { input: '{"found":"é"}', output: '{"b":"é"}' });
  });
});
