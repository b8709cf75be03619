import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { command } from './support/gateway/command.ts';
import { basic, type Gateway, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Who answers for an automation, from outside.

const automations = '/automation_catalog/automations';
const user = (username: string, roles: readonly string[], groups: readonly string[] = []) => ({
  username,
  passwordHash: testPasswordHash,
  roles,
  groups,
});

interface Automation {
  readonly _id: string;
  readonly lastModifiedBy?: string;
  readonly nextRunAt?: string;
  readonly data: { readonly owner?: string; readonly scheduledBy?: string; readonly scheduleFrom?: string };
}

function yaml(name: string, task: string): string {
  return `document: { dsl: 1.0.3, namespace: lab, name: ${name}, version: 1.0.0 }\ndo:\n  - only: { ${task} }\n`;
}

const orchestratorCall = 'call: orchestratorQuery, with: { adapter: A, params: { path: x, accept: application/json } }';

eachStore((store) => {
  let gateway: Gateway;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    const owner = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) };
    gateway = await startGateway(owner, {
      users: [
        user('ann', ['engineering'], ['noc']),
        user('bob', ['engineering'], ['noc']),
        user('ada', ['admin']),
        user('lea', ['admin']),
        user('rae', ['readonly'], ['noc']),
        user('mia', ['readonly'], ['other']),
      ],
      config: { store: { url: storeUrl(await store.empty(owner)) } },
    });
    await storeWorkflow('plain', 'set: { a: 1 }');
    await storeWorkflow('calls', orchestratorCall);
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  function send(as: string, method: string, target: string, body?: object | string, type = 'application/json'): Promise<Reply> {
    return gateway.send({
      method,
      target,
      headers: { Authorization: basic(as, testPassword), ...(body !== undefined && { 'Content-Type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  async function storeWorkflow(name: string, task: string): Promise<void> {
    const reply = await send('ada', 'POST', '/automation_catalog/workflows', yaml(name, task), 'application/yaml');
    assert.equal(reply.status, 201, reply.text);
  }

  let count = 0;
  async function created(
    as: string,
    given: object,
  ): Promise<{ readonly target: string; readonly id: string; readonly name: string }> {
    count += 1;
    const name = `people ${count}`;
    const reply = await send(as, 'POST', automations, { name, ...given });
    assert.equal(reply.status, 201, reply.text);
    const id = (reply.json() as Automation)._id;
    return { target: `${automations}/${id}`, id, name };
  }

  async function read(target: string): Promise<Automation & { readonly tag: string | undefined }> {
    const reply = await send('ada', 'GET', target);
    assert.equal(reply.status, 200, reply.text);
    return { ...(reply.json() as Automation), tag: reply.header('etag') };
  }

  function imported(as: string, ...documents: readonly object[]): Promise<Reply> {
    const lines = documents.map((document) => `${JSON.stringify(document)}\n`).join('');
    return send(as, 'POST', '/automation_catalog/import', lines, 'application/x-ndjson');
  }

  /** How many runs of the automation there are, or belong to the principal. */
  async function runsOf(id: string, principal?: string): Promise<number> {
    const reply = await send('ada', 'GET', `/runs?automation=${id}${principal === undefined ? '' : `&principal=${principal}`}`);
    return (reply.json() as { readonly list: readonly unknown[] }).list.length;
  }

  test('an import with a forged lastModifiedBy makes the importer author, owner and scheduler, and its record has the ids', async () => {
    const forged = { lastModifiedBy: 'bob', data: { workflowId: 'lab.plain', owner: 'bob', scheduledBy: 'bob' } };
    const nextRunAt = new Date(Date.now() + 200).toISOString();
    const reply = await imported('ada', { _id: 'forged', name: 'forged', ...forged, nextRunAt });
    assert.deepEqual([reply.status, reply.json()], [200, { imported: 1, replaced: 0 }]);
    const { lastModifiedBy, data } = await read(`${automations}/forged`);
    assert.deepEqual([lastModifiedBy, data.owner, data.scheduledBy], ['ada', 'ada', 'ada']);
    await until('the run begins', async () => (await runsOf('forged', 'ada')) === 1);
    await until('the import is on record', async () => {
      const audit = await send('ada', 'GET', '/audit?limit=100');
      const { list } = audit.json() as { readonly list: readonly { readonly imported?: { readonly ids: readonly string[] } }[] };
      return list.some((record) => record.imported?.ids.join() === 'forged');
    });
  });

  test('an import of the same line changes no person', async () => {
    const { target } = await created('ann', { data: { workflowId: 'lab.plain' }, repeatInterval: '1 day' });
    const { tag: _, ...document } = await read(target);
    assert.equal((await imported('lea', document)).status, 200);
    const { tag: _tag, ...after } = await read(target);
    assert.deepEqual(after, document);
    assert.equal((await imported('lea', { ...document, data: { ...document.data, workflowId: 'lab.calls' } })).status, 200);
    const changed = await read(target);
    assert.deepEqual([changed.lastModifiedBy, changed.data.owner, changed.data.scheduledBy], ['lea', 'lea', 'lea']);
  });

  test('who wrote last is named by each write, is no part of the ETag, and is ignored in a body', async () => {
    const { target } = await created('ann', { data: { workflowId: 'lab.plain' }, lastSkip: 1, warnings: [] });
    const before = await read(target);
    const reply = await send('bob', 'PATCH', target, {
      nextRunAt: '2999-01-01T00:00:00Z',
      lastModifiedBy: 'x',
      data: { owner: 'x' },
    });
    assert.equal(reply.status, 200, reply.text);
    const after = await read(target);
    assert.deepEqual(
      [after.tag, after.lastModifiedBy, after.data.owner, after.data.scheduledBy],
      [before.tag, 'bob', 'ann', 'bob'],
    );
    assert.equal((await send('ann', 'PATCH', target, { data: { description: 'd' } })).status, 200);
    const described = await read(target);
    assert.deepEqual([described.lastModifiedBy, described.data.owner, described.data.scheduledBy], ['ann', 'ann', 'bob']);
  });

  test('a member of a write group in any role pauses and resumes a schedule, and answers for nothing', async () => {
    for (const schedule of [{ repeatInterval: '1 day', nextRunAt: '2026-01-01T05:00:00Z' }, { data: { cron: '0 5 * * *' } }]) {
      const { target } = await created('ada', {
        ...schedule,
        data: { ...schedule.data, gbac: { write: ['noc'] } },
      });
      const before = await read(target);
      assertProblem(await send('mia', 'PATCH', target, { nextRunAt: null }), 403, 'forbidden');
      assert.equal((await send('rae', 'PATCH', target, { nextRunAt: null })).status, 200);
      const { nextRunAt, ...paused } = await read(target);
      const { nextRunAt: _, ...unpaused } = before;
      assert.deepEqual([nextRunAt, paused], [undefined, unpaused]);
      const resumed = await send('rae', 'PATCH', target, { nextRunAt: 'next' });
      assert.equal(resumed.status, 200, resumed.text);
      const { nextRunAt: next = '', ...rest } = await read(target);
      assert.deepEqual([next.slice(11), Date.parse(next) > Date.now(), rest], ['05:00:00.000Z', true, unpaused]);
      assertProblem(await send('rae', 'PATCH', target, { nextRunAt: '2999-01-01T00:00:00Z' }), 403, 'forbidden');
      assertProblem(await send('rae', 'PATCH', target, { nextRunAt: null, name: 'x' }), 403, 'forbidden');
    }
  });

  test('a pause by a writer of the workflow is ended by such a person alone', async () => {
    const { target } = await created('ada', {
      data: { workflowId: 'lab.calls', cron: '0 5 * * *', gbac: { write: ['noc'] } },
    });
    assert.equal((await send('rae', 'PATCH', target, { nextRunAt: null })).status, 200);
    assert.equal((await send('lea', 'PATCH', target, { nextRunAt: null })).status, 200);
    assert.equal((await send('rae', 'PATCH', target, { nextRunAt: null })).status, 200);
    for (const as of ['rae', 'ann']) assertProblem(await send(as, 'PATCH', target, { nextRunAt: 'next' }), 403, 'forbidden');
    assert.equal((await send('ada', 'PATCH', target, { nextRunAt: 'next' })).status, 200);
    assert.equal((await send('rae', 'PATCH', target, { nextRunAt: null })).status, 200);
    assert.equal((await send('rae', 'PATCH', target, { nextRunAt: 'next' })).status, 200);
  });

  test('a pause by a writer outlasts a change of what the automation does, and so does who resumed it', async () => {
    const data = { workflowId: 'lab.plain', gbac: { write: ['noc'] }, input: { a: 1 } };
    const { target, id } = await created('ada', { repeatInterval: '1 day', nextRunAt: '2999-01-01T00:00:00Z', data });
    const patch = async (as: string, body: object) => (await send(as, 'PATCH', target, body)).status;
    assert.equal(await patch('ada', { nextRunAt: null }), 200);
    assert.equal(await patch('lea', { data: { input: { a: 2 } } }), 200);
    assertProblem(await send('rae', 'PATCH', target, { nextRunAt: 'next' }), 403, 'forbidden');
    for (const [as, nextRunAt] of [
      ['ada', 'next'],
      ['rae', null],
      ['rae', 'next'],
    ] as const)
      assert.equal(await patch(as, { nextRunAt }), 200);
    assert.equal(await patch('lea', { data: { input: { a: 3 } }, nextRunAt: '2026-01-01T00:00:00Z' }), 200);
    await until('it runs', async () => (await runsOf(id, 'lea')) === 1);
    const { list } = (await send('ada', 'GET', `/runs?automation=${id}`)).json() as {
      readonly list: readonly { readonly id: string }[];
    };
    const run = (await send('ada', 'GET', `/runs/${list[0]?.id}`)).json() as { readonly involved: readonly object[] };
    assert.ok(
      run.involved.some((person) => JSON.stringify(person) === '{"principal":"rae","as":["resumer"]}'),
      JSON.stringify(run),
    );
  });

  test('next is for a patch of nextRunAt alone, of an automation with a schedule', async () => {
    const { target, name } = await created('ada', {});
    for (const [method, body] of [
      ['PATCH', { nextRunAt: 'next' }],
      ['PATCH', { nextRunAt: 'next', data: { cron: '0 5 * * *' } }],
      ['PUT', { name, nextRunAt: 'next' }],
    ] as const) {
      const problem = assertProblem(await send('ada', method, target, body), 400, 'invalid-request');
      assert.equal(problem.errors?.[0]?.pointer, '/nextRunAt');
    }
  });

  test('a person who names a workflow before it exists gets no run of it until a writer takes the automation', async () => {
    const name = `later-${store.dialect}`;
    const data = { workflowId: `lab.${name}`, gbac: { write: ['noc'] } };
    const early = await created('ann', { data, nextRunAt: '2026-01-01T00:00:00Z' });
    await storeWorkflow(name, orchestratorCall);
    const due = await created('ada', { data: { ...data, workflowId: 'lab.plain' }, nextRunAt: '2026-01-01T00:00:00Z' });
    await until('another automation runs', async () => (await runsOf(due.id)) === 1);
    assert.equal(await runsOf(early.id), 0);
    assertProblem(await send('ann', 'POST', `${early.target}/take`), 403, 'forbidden');
    assert.equal((await send('ada', 'PATCH', early.target, { nextRunAt: 'next' })).status, 400);
    assert.equal((await send('ada', 'POST', `${early.target}/take`)).status, 200);
    await until('it runs', async () => (await runsOf(early.id, 'ada')) === 1);
  });

  test('who takes an automation answers for all of it, and the document and its ETag stay', async () => {
    const { target } = await created('ann', { data: { workflowId: 'lab.plain', input: { a: 1 } }, repeatInterval: '1 day' });
    const before = await read(target);
    assertProblem(await send('rae', 'POST', `${target}/take`), 403, 'forbidden');
    const reply = await send('bob', 'POST', `${target}/take`);
    assert.equal(reply.status, 200, reply.text);
    const data = { ...before.data, owner: 'bob', scheduledBy: 'bob' };
    const after = await read(target);
    assert.deepEqual(after, { ...before, data });
    assert.deepEqual([reply.json(), reply.header('etag')], [{ ...before, data, tag: undefined }, before.tag].map(withoutTag));
    const admins = await created('ada', { data: { workflowId: 'lab.calls' } });
    assertProblem(await send('bob', 'POST', `${admins.target}/take`), 403, 'forbidden');
    assertProblem(await send('ada', 'POST', `${automations}/none/take`), 404, 'automation-not-found');
  });

  test('a listing filters by owner, author and scheduler', async () => {
    const { target, name } = await created('bob', {
      data: { workflowId: 'lab.plain', description: 'filtered', input: { a: 1 } },
    });
    assert.equal((await send('lea', 'PATCH', target, { data: { input: { a: 2 } } })).status, 200);
    const namesBy = async (query: string): Promise<readonly string[]> => {
      const reply = await send('ada', 'GET', `${automations}?${query}&equals=filtered&equalsField=data.description`);
      assert.equal(reply.status, 200, reply.text);
      return (reply.json() as { readonly list: readonly { readonly name: string }[] }).list.map((each) => each.name);
    };
    assert.deepEqual(await namesBy('owner=lea'), [name]);
    assert.deepEqual(await namesBy('owner=bob'), []);
    assert.deepEqual(await namesBy('author=bob'), [name]);
    assert.deepEqual(await namesBy('author=bob&owner=lea'), [name]);
    assert.deepEqual(await namesBy('author=BOB'), []);
    assert.deepEqual(await namesBy('scheduler=bob'), []);
    const all = await send('ada', 'GET', `${automations}?author=bob&limit=0`);
    assert.ok((all.json() as { readonly total: number }).total > 0);
  });

  test('a colleague with fewer rights changes nothing of an automation of another workflow, but its description', async () => {
    const data = { workflowId: 'lab.calls', formId: `form-${store.dialect}`, gbac: { write: ['noc'] }, input: { a: 1 } };
    const { target, name } = await created('ada', { data, repeatInterval: '1 day', nextRunAt: '2999-01-01T00:00:00Z' });
    for (const patch of [
      { name: 'mine' },
      { data: { gbac: { write: ['noc', 'mine'] } } },
      { data: { gbac: null } },
      { data: { formId: null } },
      { data: { workflowId: null } },
      { data: { workflowVersion: '1.0.0' } },
      { data: { input: { a: 2 } } },
      { data: { timeZone: 'Europe/Berlin' } },
      { nextRunAt: '2998-01-01T00:00:00Z' },
      { repeatInterval: '2 days' },
      { repeatInterval: null, data: { cron: '0 5 * * *' } },
    ])
      assertProblem(await send('ann', 'PATCH', target, patch), 403, 'forbidden');
    assertProblem(await send('ann', 'DELETE', target), 403, 'forbidden');
    assertProblem(await send('ann', 'PUT', target, { name }), 403, 'forbidden');
    const form = `/automation_catalog/forms/${data.formId}`;
    const document = { type: 'object', properties: { a: { type: 'integer', default: 7 } } };
    assertProblem(await send('ann', 'PUT', form, document), 403, 'forbidden');
    assert.equal((await send('ada', 'PUT', form, document)).status, 201);
    assertProblem(await send('ann', 'PUT', form, { ...document, title: 'mine' }), 403, 'forbidden');
    assertProblem(await send('ann', 'DELETE', form), 403, 'forbidden');
    assertProblem(await send('ada', 'DELETE', form), 409, 'form-in-use');
    assert.equal((await send('ann', 'PATCH', target, { data: { description: 'by ann' } })).status, 200);
    assert.equal((await read(target)).data.owner, 'ada');
  });

  test('the command takes automations by name, and all that a person left behind', async () => {
    const mine = await Promise.all([1, 2].map(() => created('bob', { data: { workflowId: 'lab.plain' } })));
    const third = await created('ann', { data: { workflowId: 'lab.plain' } });
    const take = (...parameters: readonly string[]) => takeAs('lea', ...parameters);
    const takeAs = (as: string, ...parameters: readonly string[]) => {
      const environment = { GATEWAY_USER: as, GATEWAY_PASSWORD: testPassword, GATEWAY_URL: gateway.url };
      return command(['automations', 'take', ...parameters], { environment });
    };
    const named = await take(third.name);
    assert.deepEqual([named.code, named.stdout], [0, `${third.name}\n`]);
    const left = await take('--from', 'bob');
    assert.equal(left.code, 0, left.stderr);
    for (const { name } of mine) assert.ok(left.stdout.split('\n').includes(name), left.stdout);
    for (const { target } of [...mine, third]) assert.equal((await read(target)).data.owner, 'lea');
    const reply = await send('ada', 'GET', `${automations}?author=bob`);
    assert.equal((reply.json() as { readonly total: number }).total, 0);
    assert.equal((await take()).code, 2);
    assert.equal((await take('none')).code, 1);
    const [admins, plain] = [
      await created('ada', { data: { workflowId: 'lab.calls' } }),
      await created('ada', { data: { workflowId: 'lab.plain' } }),
    ];
    const partly = await takeAs('bob', admins.id, plain.id);
    assert.deepEqual([partly.code, partly.stdout], [1, `${plain.name}\n`]);
    assert.ok(partly.stderr.startsWith(`orchestration-gateway automations take: ${admins.name}: `), partly.stderr);
  });

  test('a scheduled run belongs to who scheduled it last, and not to who changed the groups before', async () => {
    const data = { workflowId: 'lab.plain', gbac: { write: ['noc'] } };
    const { target, id } = await created('bob', { data, nextRunAt: '2999-01-01T00:00:00Z' });
    assert.equal(
      (await send('ada', 'PATCH', target, { data: { gbac: { write: ['other'] } }, nextRunAt: '2999-01-02T00:00:00Z' })).status,
      200,
    );
    assert.equal((await send('ada', 'PATCH', target, { nextRunAt: '2026-01-01T00:00:00Z' })).status, 200);
    await until('it runs', async () => (await runsOf(id, 'ada')) === 1);
    assert.equal((await read(target)).data.scheduledBy, 'ada');
  });
});

function withoutTag(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { tag: _, ...rest } = value as Readonly<Record<string, unknown>>;
  return rest;
}
