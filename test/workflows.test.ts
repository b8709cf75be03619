import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { type Gateway, startGateway, type TestRole } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// The documents that automations name: stored, checked, listed, read and deleted.

const path = '/automation_catalog/workflows';

interface Wish {
  readonly role?: TestRole;
  readonly method?: string;
  readonly target?: string;
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function call(
  gateway: Gateway,
  { role = 'admin', method = 'GET', target = path, body, type, headers = {} }: Wish,
): Promise<Reply> {
  const sent = body === undefined ? {} : { 'Content-Type': type ?? 'application/yaml' };
  return gateway.send({ role, method, target, headers: { ...sent, ...headers }, ...(body === undefined ? {} : { body }) });
}

function post(gateway: Gateway, body: string | Buffer, wish: Wish = {}): Promise<Reply> {
  return call(gateway, { method: 'POST', body, ...wish });
}

const restCall = 'call: restCall, with: { uri: "https://example.net/", verb: GET }';
const orchestratorCall = 'call: orchestratorQuery, with: { adapter: A, params: { path: x, accept: application/json } }';

function yaml(name: string, { version = '1.0.0', task = 'set: { a: 1.0 }' } = {}): string {
  return `# kept as it is\ndocument: { dsl: 1.0.3, namespace: lab, name: ${name}, version: ${version} }\ndo:\n  - only: { ${task} }\n`;
}

async function stored(gateway: Gateway, body: string, role: TestRole = 'admin'): Promise<Reply> {
  const reply = await post(gateway, body, { role });
  assert.equal(reply.status, 201, reply.text);
  return reply;
}

async function statuses(replies: readonly Promise<Reply>[]): Promise<readonly number[]> {
  return (await Promise.all(replies)).map(({ status }) => status);
}

eachStore((store) => {
  let gateway: Gateway;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    gateway = await gatewayOn(store, { after: (cleanup) => void cleanups.push(cleanup) });
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  describe('storing a workflow', () => {
    test('answers 201 with Location, ETag and warnings, and it can be read as it was written', async () => {
      const document = yaml('stored', { task: orchestratorCall });
      const reply = await stored(gateway, document);
      const { createdAt, warnings, ...rest } = reply.json() as { createdAt: string; warnings: readonly object[] };
      assert.deepEqual(rest, { id: 'lab.stored', version: '1.0.0', calls: ['orchestratorQuery'], createdBy: 'admin-user' });
      assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
      assert.deepEqual(
        warnings.map((warning) => Object.keys(warning)),
        [['pointer', 'detail', 'line', 'column']],
      );
      assert.equal(reply.header('location'), `${path}/lab.stored?version=1.0.0`);
      const read = await call(gateway, { target: reply.header('location') ?? '', role: 'apiread' });
      assert.equal(read.status, 200, read.text);
      assert.equal(read.text, document);
      assert.equal(read.header('content-type'), 'application/yaml');
      assert.equal(read.header('etag'), reply.header('etag'));
    });

    test('answers the same bytes again, and other content of the version with 409', async () => {
      const first = await stored(gateway, yaml('again'));
      const second = await stored(gateway, yaml('again'), 'engineering');
      assert.equal(second.text, first.text);
      assert.equal(second.header('etag'), first.header('etag'));
      const problem = assertProblem(await post(gateway, `${yaml('again')}\n`), 409, 'workflow-exists');
      assert.match(problem.detail, /1\.0\.0 of lab\.again/u);
    });

    test('keeps one of two documents that come for a version at the same time', async () => {
      const documents = ['set: { a: 1 }', 'set: { a: 2 }'].map((task) => yaml('race', { task }));
      const both = await statuses(
        documents.map((document, at) => post(gateway, document, { role: at === 0 ? 'admin' : 'engineering' })),
      );
      assert.deepEqual(
        both.toSorted((a, b) => a - b),
        [201, 409],
      );
      const read = await call(gateway, { target: `${path}/lab.race` });
      assert.equal(read.text, documents[both.indexOf(201)]);
    });

    test('names every problem with its pointer, line and column', async () => {
      const document = `${yaml('wrong', { task: 'set: { a: "${ .a | }" }, iff: true' })}schedule: { every: P1D }\n`;
      const { errors } = assertProblem(await post(gateway, document), 400, 'workflow-invalid');
      const places = (errors ?? []).map(({ pointer, line, column }) => ({ pointer, line, column }));
      assert.deepEqual(places, [
        { pointer: '/do/0/only/set/a', line: 4, column: 23 },
        { pointer: '/do/0/only/iff', line: 4, column: 38 },
        { pointer: '/schedule', line: 5, column: 1 },
      ]);
      assertProblem(await call(gateway, { target: `${path}/lab.wrong` }), 404, 'workflow-not-found');
    });

    test('refuses bytes that are not UTF-8, JSON that is none, other media types and documents over 1 MiB', async () => {
      const notUtf8 = assertProblem(await post(gateway, Buffer.from([0xff, 0x0a])), 400, 'workflow-invalid');
      assert.match(JSON.stringify(notUtf8.errors), /not UTF-8/u);
      const noJson = assertProblem(await post(gateway, yaml('no-json'), { type: 'application/json' }), 400, 'workflow-invalid');
      assert.match(JSON.stringify(noJson.errors), /application\/yaml/u);
      assertProblem(await post(gateway, yaml('text'), { type: 'text/plain' }), 415, 'unsupported-media-type');
      assertProblem(await post(gateway, `#${'x'.repeat(1024 ** 2)}`), 413, 'body-too-large');
      assertProblem(await post(gateway, ''), 400, 'workflow-invalid');
    });
  });

  describe('the role of the writer', () => {
    test('is admin where the workflow calls an orchestrator, itself or by one that it runs', async () => {
      const inner = yaml('inner', { task: orchestratorCall });
      const running = (workflow: string): string =>
        yaml('outer', { task: `run: { workflow: { namespace: lab, name: ${workflow} } }` });
      assertProblem(await post(gateway, inner, { role: 'engineering' }), 403, 'forbidden');
      await stored(gateway, inner);
      for (const [workflow, reason] of [
        ['inner, version: 1.0.0', /runs lab\.inner 1\.0\.0: it calls orchestratorQuery: This needs the role admin/u],
        ['absent, version: 1.0.0', /runs lab\.absent 1\.0\.0: it does not exist/u],
        ['inner, version: latest', /runs the latest version of lab\.inner, which may change/u],
      ] as const) {
        const problem = assertProblem(await post(gateway, running(workflow), { role: 'engineering' }), 403, 'forbidden');
        assert.match(problem.detail, reason);
        assert.equal(problem.errors?.[0]?.pointer, '/do/0/only');
      }
      await stored(gateway, running('inner, version: 1.0.0'));
      assertProblem(
        await call(gateway, { method: 'DELETE', target: `${path}/lab.outer`, role: 'engineering' }),
        403,
        'forbidden',
      );
    });

    test('may be engineering for all other workflows', async () => {
      await stored(gateway, yaml('plain', { task: restCall }), 'engineering');
      await stored(
        gateway,
        yaml('caller', { task: 'run: { workflow: { namespace: lab, name: plain, version: 1.0.0 } }' }),
        'engineering',
      );
      const target = `${path}/lab.caller`;
      assert.equal((await call(gateway, { method: 'DELETE', target, role: 'engineering' })).status, 204);
    });
  });

  test('checking finds problems, missing rights and warnings, and stores nothing', async () => {
    const target = `${path}/check`;
    const good = await post(gateway, yaml('checked', { task: orchestratorCall }), { target, role: 'engineering' });
    assert.equal(good.status, 200, good.text);
    const judged = good.json() as { errors: readonly unknown[]; warnings: readonly unknown[] };
    const { errors, warnings } = judged;
    // A caller who may call no orchestrator gets no names of adapter instances either.
    assert.deepEqual([errors.length, warnings.length], [1, 0]);
    const byAdmin = (await post(gateway, yaml('checked', { task: orchestratorCall }), { target })).json() as typeof judged;
    assert.deepEqual([byAdmin.errors.length, byAdmin.warnings.length], [0, 1]);
    const bad = await post(gateway, 'do: [', { target });
    assert.equal(bad.status, 200, bad.text);
    assert.notDeepEqual((bad.json() as { errors: readonly unknown[] }).errors, []);
    assert.match(bad.text, /\]\}$/u);
    const draft = await post(gateway, 'do:\n  - a: { set: { serial: 18446744073709551615 } }\n', { target });
    assert.match(
      draft.text,
      /^\{"errors":\[\{.*,"document":\{"do":\[\{"a":\{"set":\{"serial":18446744073709551615\}\}\}\]\}\}$/u,
    );
    assertProblem(await call(gateway, { target: `${path}/lab.checked` }), 404, 'workflow-not-found');
  });

  describe('reading a workflow', () => {
    test('answers the newest version by semantic versioning, or the named one', async () => {
      for (const version of ['1.9.0', '1.10.0', '1.10.0-rc.1']) await stored(gateway, yaml('versions', { version }));
      const versionOf = async (query: string): Promise<string | undefined> => {
        const { text } = await call(gateway, { target: `${path}/lab.versions${query}` });
        return /version: (\S+)/u.exec(text)?.[1];
      };
      assert.deepEqual([await versionOf(''), await versionOf('?version=1.9.0')], ['1.10.0', '1.9.0']);
      assertProblem(await call(gateway, { target: `${path}/lab.versions?version=2.0.0` }), 404, 'workflow-not-found');
      assertProblem(await call(gateway, { target: `${path}/LAB.versions` }), 404, 'workflow-not-found');
    });

    test('answers JSON where Accept prefers it, with the digits of the document, and an ETag of its own', async () => {
      const { headers: _, ...written } = await stored(gateway, yaml('accepted'));
      const target = `${path}/lab.accepted`;
      const asJson = await call(gateway, { target, headers: { Accept: 'application/json' } });
      assert.equal(asJson.header('content-type'), 'application/json');
      assert.match(asJson.text, /"a":1\.0\}/u);
      assert.notEqual(asJson.header('etag'), written.header('etag'));
      for (const Accept of ['*/*', 'application/yaml', 'application/yaml, application/json;q=0.5']) {
        assert.equal((await call(gateway, { target, headers: { Accept } })).text, yaml('accepted'), Accept);
      }
      const known = { 'If-None-Match': asJson.header('etag') ?? '' };
      const again = await call(gateway, { target, headers: { Accept: 'application/json', ...known } });
      assert.deepEqual([again.status, again.text], [304, '']);
    });

    test('answers a document that was written as JSON as it was written', async () => {
      const document = `{ "document": {"dsl":"1.0.3","namespace":"lab","name":"json","version":"1.0.0"}, "do": [{"a":{"set":{"b":1.0}}}]}`;
      assert.equal((await post(gateway, document, { type: 'application/json; charset=utf-8' })).status, 201);
      const read = await call(gateway, { target: `${path}/lab.json` });
      assert.deepEqual([read.text, read.header('content-type')], [document, 'application/json']);
    });
  });

  describe('deleting a workflow', () => {
    test('deletes the named version, or all', async () => {
      for (const version of ['1.0.0', '2.0.0', '3.0.0']) await stored(gateway, yaml('deleted', { version }));
      const remove = (query: string) => call(gateway, { method: 'DELETE', target: `${path}/lab.deleted${query}` });
      assert.equal((await remove('?version=3.0.0')).status, 204);
      assertProblem(await remove('?version=3.0.0'), 404, 'workflow-not-found');
      assert.match((await call(gateway, { target: `${path}/lab.deleted` })).text, /version: 2\.0\.0/u);
      assert.equal((await remove('')).status, 204);
      assertProblem(await remove(''), 404, 'workflow-not-found');
    });

    test('is 409 while an automation names the workflow exactly', async () => {
      await stored(gateway, yaml('named'));
      const automations = '/automation_catalog/automations';
      const named = { type: 'application/json', method: 'POST', target: automations };
      const automation = (workflowId: string): string => JSON.stringify({ name: `names ${workflowId}`, data: { workflowId } });
      const created = await call(gateway, { ...named, body: automation('lab.named') });
      assert.equal((await call(gateway, { ...named, body: automation('LAB.named') })).status, 201);
      const remove = { method: 'DELETE', target: `${path}/lab.named` };
      assertProblem(await call(gateway, remove), 409, 'workflow-in-use');
      assertProblem(await call(gateway, { ...remove, target: `${path}/lab.named?version=1.0.0` }), 409, 'workflow-in-use');
      await call(gateway, { method: 'DELETE', target: created.header('location') ?? '' });
      assert.equal((await call(gateway, remove)).status, 204);
    });
  });

  test('the audit log has who stored and who deleted which version', async () => {
    await stored(gateway, yaml('audited'), 'engineering');
    await call(gateway, { method: 'DELETE', target: `${path}/lab.audited?version=1.0.0` });
    let found: readonly AuditRecord[] = [];
    await until('the records are stored', async () => {
      const { list } = (await call(gateway, { target: '/audit?limit=1000' })).json() as { readonly list: readonly AuditRecord[] };
      found = list.filter(({ workflow }) => workflow?._id === 'lab.audited');
      return found.length === 2;
    });
    const workflow = { _id: 'lab.audited', name: 'lab.audited', version: '1.0.0' };
    assert.deepEqual(
      found.map((record) => [record.principal, record.route, record.workflow]),
      [
        ['admin-user', `DELETE ${path}/:id`, workflow],
        ['engineering-user', `POST ${path}`, workflow],
      ],
    );
  });

  test('a document of 1 MB is read while the gateway answers others', async () => {
    const lines = Array.from(
      { length: 2_000 },
      (_, at) => `  - t${at}: { set: { note: ${'x'.repeat(440)}, a: "\${ .a + ${at} }" } }\n`,
    );
    const large = yaml('large') + lines.join('');
    assert.ok(large.length > 960_000 && large.length < 1024 ** 2, `${large.length}`);
    const reading = stored(gateway, large);
    const unread = Symbol('unread');
    let answered = 0;
    do {
      assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
      answered += 1;
    } while ((await Promise.race([reading, Promise.resolve(unread)])) === unread);
    assert.ok(answered >= 20, `${answered} requests were answered meanwhile`);
    assert.equal((await call(gateway, { target: `${path}/lab.large` })).text, large);
  });

  test('the documents stay over a restart', async () => {
    await stored(gateway, yaml('restarted'));
    gateway = await gateway.restart();
    assert.equal((await call(gateway, { target: `${path}/lab.restarted` })).text, yaml('restarted'));
  });
});

eachStore((store) => {
  test('the listing has pages of workflows by id, each with its newest release and the names of all', async (t) => {
    const gateway = await gatewayOn(store, t);
    const empty = await call(gateway, {});
    assert.deepEqual(empty.json(), { list: [], total: 0, skip: 0, limit: 100 });
    for (const name of ['b', 'a', 'C']) await stored(gateway, yaml(name));
    await stored(gateway, yaml('a', { version: '0.9.0' }));
    await stored(gateway, yaml('a', { version: '1.10.0, title: Newest', task: restCall }));
    await stored(gateway, yaml('a', { version: '2.0.0-rc.1' }));
    const page = async (query: string, role: TestRole = 'readonly') => {
      const reply = await call(gateway, { target: `${path}${query}`, role });
      assert.equal(reply.status, 200, reply.text);
      return reply.json() as { list: readonly Readonly<Record<string, unknown>>[]; total: number };
    };
    const { list, total } = await page('');
    assert.deepEqual([list.map(({ id }) => id), total], [['lab.C', 'lab.a', 'lab.b'], 3]);
    const { createdAt: _, ...second } = list[1] ?? {};
    assert.deepEqual(second, {
      id: 'lab.a',
      version: '1.10.0',
      title: 'Newest',
      calls: ['restCall'],
      createdBy: 'admin-user',
      versions: ['2.0.0-rc.1', '1.10.0', '1.0.0', '0.9.0'],
    });
    assert.deepEqual(
      (await page('?limit=1&skip=2')).list.map(({ id }) => id),
      ['lab.b'],
    );
    const found = async (text: string) => {
      const { list: some, total: count } = await page(`?contains=${text}&limit=2`);
      return [some.map(({ id }) => id), count];
    };
    assert.deepEqual(await found('LAB.c'), [['lab.C'], 1], 'by id, ignoring case');
    assert.deepEqual(await found('newe'), [['lab.a'], 1], 'by the title of the newest release');
    assert.deepEqual(await found('lab'), [['lab.C', 'lab.a'], 3], 'all that fit are counted');
    assert.deepEqual(await found('none'), [[], 0]);
    assert.deepEqual((await page('?queryParameters={"limit":0}')).list, []);
    assertProblem(await call(gateway, { target: `${path}?limit=1001&sort=name` }), 400, 'invalid-request');
  });
});

test('the language has an entity tag, and a caller that has it gets 304', async (t) => {
  const gateway = await startGateway(t);
  const target = `${path}/language`;
  const reply = await call(gateway, { target, role: 'readonly' });
  assert.equal(reply.status, 200, reply.text);
  const { tasks, functions, variables, errors } = reply.json() as Readonly<
    Record<'tasks' | 'functions' | 'variables', readonly { readonly name: string }[]>
  > & { readonly errors: readonly string[] };
  assert.deepEqual(
    [tasks, functions, variables].map((list) => list.some(({ name }) => ['switch', 'restCall', '$context'].includes(name))),
    [true, true, true],
  );
  assert.ok(errors.includes('urn:orchestration-gateway:errors:outcome-unknown'));
  const tag = reply.header('etag') ?? '';
  assert.match(tag, /^"[^"]+"$/u);
  const again = await call(gateway, { target, role: 'other', headers: { 'If-None-Match': tag } });
  assert.deepEqual([again.status, again.text, again.header('etag')], [304, '', tag]);
  assertProblem(await gateway.send({ method: 'GET', target }), 401, 'unauthenticated');
});

function gatewayOn(store: TestStore, owner: Owner): Promise<Gateway> {
  return store.empty(owner).then((fresh) => startGateway(owner, { config: { store: { url: storeUrl(fresh) } } }));
}
