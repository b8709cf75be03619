import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';

// The routes beyond the specification: create, read, replace, merge-patch and delete, with ETags and groups.

const user = (username: string, roles: readonly string[], groups: readonly string[]) => ({
  username,
  passwordHash: testPasswordHash,
  roles,
  groups,
});
const gateway = await startGateway(
  { after },
  {
    users: [
      user('eng-ops', ['engineering'], ['ops']),
      user('eng-noc', ['engineering', 'readonly'], ['noc']),
      user('reader-ops', ['readonly'], ['ops']),
    ],
  },
);
const path = '/automation_catalog/automations';

interface Document extends Readonly<Record<string, unknown>> {
  readonly _id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Wish {
  readonly as?: string;
  readonly method?: string;
  readonly id?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function call({ as = 'admin-user', method = 'GET', id, body, headers = {} }: Wish): Promise<Reply> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return gateway.send({
    method,
    target: id === undefined ? path : `${path}/${id}`,
    headers: {
      Authorization: basic(as, testPassword),
      ...(body === undefined ? {} : { 'Content-Type': type }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

async function created(body: Readonly<Record<string, unknown>>, as = 'admin-user'): Promise<Document> {
  const reply = await call({ as, method: 'POST', body });
  assert.equal(reply.status, 201, reply.text);
  return reply.json() as Document;
}

async function namesSeenBy(as: string): Promise<readonly string[]> {
  const reply = await call({ as });
  assert.equal(reply.status, 200, reply.text);
  const { list, total } = reply.json() as { readonly list: readonly { readonly name: string }[]; readonly total: number };
  assert.equal(total, list.length);
  return list.map(({ name }) => name);
}

describe('creating', () => {
  test('answers 201 with the whole document, its Location and its ETag, and it can be read there', async () => {
    const reply = await call({ method: 'POST', as: 'engineering-user', body: { name: 'created bare' } });
    assert.equal(reply.status, 201, reply.text);
    const document = reply.json() as Document;
    assert.match(document._id, /^[0-9a-f]{24}$/u);
    assert.equal(document['lastModifiedBy'], 'engineering-user');
    assert.match(String(document.data['lastUpdated']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
    assert.deepEqual(Object.keys(document), ['_id', 'name', 'data', 'lastModifiedBy']);
    assert.equal(reply.header('location'), `${path}/${document._id}`);
    const read = await call({ id: document._id });
    assert.equal(read.status, 200);
    assert.equal(read.text, reply.text);
    assert.equal(read.header('etag'), reply.header('etag'));
    assert.match(reply.header('etag') ?? '', /^"[\w-]{20,}"$/u);
  });

  test('keeps every field, timestamps in UTC, and ignores what the gateway sets', async () => {
    const given = {
      _id: 'mine',
      name: 'created whole',
      data: {
        gbac: { write: ['ops'], read: [] },
        lastUpdated: '1999-01-01T00:00:00Z',
        scheduleFrom: '1999-01-01T00:00:00Z',
        description: 'Ä "quoted" 😀',
        workflowId: 'w',
        formId: '',
      },
      lastModifiedBy: 'somebody else',
      lastRunAt: '2026-03-01T23:30:00.1234+02:00',
      nextRunAt: '2026-03-02t00:00:00z',
      repeatInterval: '5 minutes',
    };
    const { _id, data, warnings, ...document } = await created(given);
    assert.notEqual(_id, 'mine');
    const detail = 'names no workflow that exists and has a release: the automation is not due';
    assert.deepEqual(warnings, [{ pointer: '/data/workflowId', detail }]);
    const { lastUpdated, ...rest } = data;
    assert.deepEqual(rest, {
      scheduleFrom: '2026-03-02T00:00:00.000Z',
      owner: 'admin-user',
      scheduledBy: 'admin-user',
      gbac: { write: ['ops'], read: [] },
      description: 'Ä "quoted" 😀',
      workflowId: 'w',
      formId: '',
    });
    assert.notEqual(lastUpdated, given.data.lastUpdated);
    assert.deepEqual(document, {
      name: 'created whole',
      lastModifiedBy: 'admin-user',
      lastRunAt: '2026-03-01T21:30:00.123Z',
      nextRunAt: '2026-03-02T00:00:00.000Z',
      repeatInterval: '5 minutes',
    });
  });

  test('ignores fields that the gateway sets, of any type, when it creates, replaces and patches', async () => {
    const data = { lastUpdated: 'yesterday', scheduleFrom: 7, description: 'kept' };
    const set = { _id: 5, lastModifiedBy: { any: ['thing'] }, data };
    const { _id } = await created({ name: 'sets what it may not', ...set });
    assert.match(_id, /^[0-9a-f]{24}$/u);
    for (const method of ['PUT', 'PATCH']) {
      const reply = await call({ method, id: _id, body: { name: `${method} sets it`, ...set } });
      assert.equal(reply.status, 200, reply.text);
      const { data, ...rest } = reply.json() as Document;
      assert.deepEqual(rest, { _id, name: `${method} sets it`, lastModifiedBy: 'admin-user' });
      assert.equal(data['description'], 'kept');
      assert.match(String(data['lastUpdated']), /^\d{4}-\d\d-\d\dT/u);
    }
  });

  test('refuses a name that is taken, compared exactly', async () => {
    await created({ name: 'taken' });
    const problem = assertProblem(await call({ method: 'POST', body: { name: 'taken' } }), 409, 'automation-exists');
    assert.match(problem.detail, /"taken"/u);
    await created({ name: 'Taken' });
  });

  const wrong: readonly (readonly [unknown, string])[] = [
    [{}, '/name'],
    [{ name: '' }, '/name'],
    [{ name: null }, '/name'],
    [{ name: 5 }, '/name'],
    [{ name: 'x'.repeat(257) }, '/name'],
    [{ name: '\u{fdfa}'.repeat(200) }, '/name'],
    [{ name: 'n', nextRunAt: null }, '/nextRunAt'],
    [{ name: 'n', nextRunAt: 'tomorrow' }, '/nextRunAt'],
    [{ name: 'n', lastRunAt: '2026-02-30T00:00:00Z' }, '/lastRunAt'],
    [{ name: 'n', lastRunAt: '2026-02-03 00:00:00Z' }, '/lastRunAt'],
    [{ name: 'n', data: { description: 1 } }, '/data/description'],
    [{ name: 'n', data: { gbac: { read: 'ops' } } }, '/data/gbac/read'],
    [{ name: 'n', data: { gbac: { read: [''] } } }, '/data/gbac/read/0'],
    [{ name: 'n', data: { gbac: { admin: [] } } }, '/data/gbac/admin'],
    [{ name: 'n', data: [] }, '/data'],
    [{ name: 'n', description: 'not here' }, '/description'],
    [{ name: 'n', repeatInterval: 'every 5 minutes' }, '/repeatInterval'],
    [{ name: 'n', repeatInterval: '5 mins' }, '/repeatInterval'],
    [{ name: 'n', repeatInterval: '0 hours' }, '/repeatInterval'],
    [{ name: 'n', repeatInterval: '-2 days' }, '/repeatInterval'],
    [{ name: 'n', data: { timeZone: 'Berlin' } }, '/data/timeZone'],
    [{ name: 'n', data: { workflowVersion: 'latest' } }, '/data/workflowVersion'],
    [{ name: 'n', data: { workflowVersion: '1.0' } }, '/data/workflowVersion'],
    [{ name: 'n', data: { workflowVersion: '01.0.0' } }, '/data/workflowVersion'],
    [{ name: 'n', data: { cron: '61 * * * *' } }, '/data/cron'],
    [{ name: 'n', data: { input: [] } }, '/data/input'],
    [{ name: 'n', data: { input: 1.5 } }, '/data/input'],
    [{ name: 'n', data: { input: { long: 'x'.repeat(262_144) } } }, '/data/input'],
  ];
  for (const [body, pointer] of wrong) {
    test(`names ${pointer} in ${JSON.stringify(body).slice(0, 80)}`, async () => {
      const { errors } = assertProblem(await call({ method: 'POST', body }), 400, 'invalid-request');
      assert.deepEqual(
        errors?.map((error) => error.pointer),
        [pointer],
      );
    });
  }

  test('names both fields of an automation with two schedules, and what is wrong inside its input', async () => {
    const both = await call({ method: 'POST', body: { name: 'n', repeatInterval: '1 day', data: { cron: '0 5 * * *' } } });
    const { errors = [] } = assertProblem(both, 400, 'invalid-request');
    assert.deepEqual(errors.map(({ pointer }) => pointer).toSorted(), ['/data/cron', '/repeatInterval']);
    const twice = await call({ method: 'POST', body: '{"name":"n","data":{"input":{"a":{"b":1,"b":2}}}}' });
    const inside = assertProblem(twice, 400, 'invalid-request').errors ?? [];
    assert.deepEqual(
      inside.map(({ pointer }) => pointer),
      ['/data/input/a/b'],
    );
  });

  test('keeps the digits of an input, in a change of one member too', async () => {
    const input = '{"id":18446744073709551615,"rate":1.0}';
    const made = await call({ method: 'POST', body: `{"name":"digits","data":{"input":${input}}}` });
    assert.equal(made.status, 201, made.text);
    assert.ok(made.text.includes(`"input":${input}`), made.text);
    const { _id: id } = JSON.parse(made.text) as { readonly _id: string };
    const patched = await call({ method: 'PATCH', id, body: '{"data":{"input":{"rate":2.50}}}' });
    assert.ok(patched.text.includes('"input":{"id":18446744073709551615,"rate":2.50}'), patched.text);
    await call({ method: 'DELETE', id });
  });

  test('names the right place of a field that is in a wrong one', async () => {
    const body = { name: 'n', description: 'd', read: ['ops'], data: { nextRunAt: '2026-02-03T00:00:00Z' } };
    const { errors = [] } = assertProblem(await call({ method: 'POST', body }), 400, 'invalid-request');
    const details = new Map(errors.map(({ pointer, detail }) => [pointer, detail]));
    assert.equal(details.get('/description'), 'is not known here; write it as data.description');
    assert.equal(details.get('/read'), 'is not known here; write it as data.gbac.read');
    assert.equal(details.get('/data/nextRunAt'), 'is not known here; write it as nextRunAt');
  });

  test('names every problem at once, and shows a right interval', async () => {
    const body = { nme: 'x', nextRunAt: 'soon', repeatInterval: 'every 5 minutes', data: { workflowId: 'w'.repeat(300) } };
    const { errors = [] } = assertProblem(await call({ method: 'POST', body }), 400, 'invalid-request');
    assert.deepEqual(errors.map(({ pointer }) => pointer).toSorted(), [
      '/data/workflowId',
      '/name',
      '/nextRunAt',
      '/nme',
      '/repeatInterval',
    ]);
    assert.match(errors.find(({ pointer }) => pointer === '/repeatInterval')?.detail ?? '', /"5 minutes"/u);
  });

  test('refuses JSON that could be read in two ways, and a document that no export could hold', async () => {
    assertProblem(await call({ method: 'POST', body: '{"name":"a","name":"b"}' }), 400, 'invalid-json');
    assertProblem(await call({ method: 'POST', body: '{"name":"\\ud800"}' }), 400, 'invalid-json');
    const body = { name: 'large', data: { description: 'x'.repeat(1_048_576) } };
    assertProblem(await call({ method: 'POST', body }), 413, 'body-too-large');
  });
});

describe('conditions', () => {
  test('a change with the current ETag is made, one with a stale or weak one is 412 and changes nothing', async () => {
    const { _id: id } = await created({ name: 'conditional' });
    const first = (await call({ id })).header('etag') ?? '';
    const replaced = await call({ method: 'PUT', id, body: { name: 'conditional 2' }, headers: { 'If-Match': `"x", ${first}` } });
    assert.equal(replaced.status, 200, replaced.text);
    const second = replaced.header('etag') ?? '';
    assert.notEqual(second, first);
    for (const stale of [first, `W/${second}`, '"", "x"']) {
      const headers = { 'If-Match': stale };
      assertProblem(await call({ method: 'PUT', id, body: { name: 'lost' }, headers }), 412, 'precondition-failed');
      assertProblem(await call({ method: 'PATCH', id, body: { name: 'lost' }, headers }), 412, 'precondition-failed');
      assertProblem(await call({ method: 'DELETE', id, headers }), 412, 'precondition-failed');
      assertProblem(await call({ id, headers }), 412, 'precondition-failed');
    }
    assert.equal((await call({ id })).text, replaced.text);
    assertProblem(await call({ method: 'DELETE', id, headers: { 'If-Match': 'unquoted' } }), 400, 'invalid-request');
    assert.equal((await call({ method: 'DELETE', id, headers: { 'If-Match': '*' } })).status, 204);
  });

  test('a reader that has the document already gets 304 and no body', async () => {
    const { _id: id } = await created({ name: 'cached' });
    const tag = (await call({ id })).header('etag') ?? '';
    for (const ifNoneMatch of [tag, `W/${tag}`, '*', `"x" , ${tag}`]) {
      const reply = await call({ id, headers: { 'If-None-Match': ifNoneMatch } });
      assert.equal(reply.status, 304);
      assert.equal(reply.header('etag'), tag);
      assert.equal(reply.body.length, 0);
    }
    assert.equal((await call({ id, headers: { 'If-None-Match': '"x"' } })).status, 200);
  });

  test('of many that race with the same ETag exactly one wins', async () => {
    const { _id: id } = await created({ name: 'raced' });
    const headers = { 'If-Match': (await call({ id })).header('etag') ?? '' };
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) => call({ method: 'PATCH', id, body: { data: { formId: `f${index}` } }, headers })),
    );
    const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
    assert.deepEqual(statuses, [200, ...Array.from({ length: 11 }, () => 412)]);
  });
});

describe('changing and deleting', () => {
  test('a replacement takes the place of everything that was there', async () => {
    const { _id: id } = await created({ name: 'replaced', repeatInterval: '1 day', data: { description: 'old' } });
    const reply = await call({ method: 'PUT', id, body: { name: 'replaced', lastRunAt: '2026-01-01T00:00:00Z' } });
    const { data, ...document } = reply.json() as Document;
    assert.deepEqual(document, {
      _id: id,
      name: 'replaced',
      lastModifiedBy: 'admin-user',
      lastRunAt: '2026-01-01T00:00:00.000Z',
    });
    assert.deepEqual(Object.keys(data), ['lastUpdated', 'owner', 'scheduledBy']);
  });

  test('a merge patch removes what is null, merges objects, replaces lists', async () => {
    const { _id: id } = await created({
      name: 'patched',
      repeatInterval: '1 day',
      data: { description: 'old', formId: 'f', gbac: { write: ['a', 'b'], read: ['a'] } },
    });
    const body = { repeatInterval: null, data: { description: null, workflowId: 'w', gbac: { write: ['c'] } } };
    const { data, ...document } = (await call({ method: 'PATCH', id, body })).json() as Document;
    assert.deepEqual(document, { _id: id, name: 'patched', lastModifiedBy: 'admin-user' });
    const { lastUpdated: _, owner: _owner, scheduledBy: _by, ...rest } = data;
    assert.deepEqual(rest, { formId: 'f', gbac: { write: ['c'], read: ['a'] }, workflowId: 'w' });
    const bare = (await call({ method: 'PATCH', id, body: { data: null } })).json() as Document;
    assert.deepEqual(Object.keys(bare.data), ['lastUpdated', 'owner', 'scheduledBy']);
  });

  test('a merge patch may come as application/json, with the same effect and with the same refusals', async () => {
    const { _id: id } = await created({ name: 'patched as JSON', repeatInterval: '1 day', data: { formId: 'f' } });
    for (const type of ['application/json', 'application/json; charset=utf-8']) {
      const headers = { 'Content-Type': type };
      const body = { repeatInterval: null, data: { workflowId: 'w' } };
      const { data, ...document } = (await call({ method: 'PATCH', id, body, headers })).json() as Document;
      assert.deepEqual(document, { _id: id, name: 'patched as JSON', lastModifiedBy: 'admin-user' });
      assert.deepEqual([data['formId'], data['workflowId']], ['f', 'w']);
      assertProblem(await call({ method: 'PATCH', id, body: { name: null }, headers }), 400, 'invalid-request');
    }
  });

  test('a patch cannot take the name away, add what a document does not have, or come as another media type', async () => {
    const { _id: id } = await created({ name: 'patched wrongly' });
    for (const [body, pointer] of [
      [{ name: null }, '/name'],
      [{ foo: null }, '/foo'],
      [{ data: { gbac: { read: [5] } } }, '/data/gbac/read/0'],
      [{ repeatInterval: '5 mins' }, '/repeatInterval'],
    ] as const) {
      const { errors } = assertProblem(await call({ method: 'PATCH', id, body }), 400, 'invalid-request');
      assert.deepEqual(
        errors?.map((error) => error.pointer),
        [pointer],
      );
    }
    const other = await call({ method: 'PATCH', id, body: {}, headers: { 'Content-Type': 'application/json-patch+json' } });
    const { detail } = assertProblem(other, 415, 'unsupported-media-type');
    assert.match(detail, /application\/merge-patch\+json or application\/json/u);
    assert.equal(other.header('accept-patch'), 'application/merge-patch+json, application/json');
  });

  test('a rename to a taken name is 409 and leaves both as they were', async () => {
    const { _id: id } = await created({ name: 'renamed' });
    await created({ name: 'in the way' });
    const before = await call({ id });
    assertProblem(await call({ method: 'PATCH', id, body: { name: 'in the way' } }), 409, 'automation-exists');
    assertProblem(await call({ method: 'PUT', id, body: { name: 'in the way' } }), 409, 'automation-exists');
    assert.equal((await call({ id })).text, before.text);
  });

  test('what was deleted is gone, and what never was is the same 404', async () => {
    const { _id: id } = await created({ name: 'deleted' });
    const reply = await call({ method: 'DELETE', id });
    assert.equal(reply.status, 204);
    assert.equal(reply.body.length, 0);
    const gone = assertProblem(await call({ id }), 404, 'automation-not-found');
    for (const unknown of ['0123456789abcdef01234567', '%2e', 'a%2Fb', 'x'.repeat(200)]) {
      for (const method of ['GET', 'DELETE']) {
        const problem = assertProblem(await call({ method, id: unknown }), 404, 'automation-not-found');
        assert.equal(problem.detail, gone.detail);
      }
    }
    assertProblem(await call({ method: 'PUT', id, body: { name: 'deleted' } }), 404, 'automation-not-found');
  });
});

describe('R82: groups', () => {
  test('what a caller may not see is not listed, not counted, and 404; what it may not write is 403', async () => {
    const { _id: id } = await created({ name: 'grouped', data: { gbac: { read: ['noc'], write: ['ops'] } } });
    assert.ok((await namesSeenBy('reader-ops')).includes('grouped'));
    assert.ok((await namesSeenBy('eng-noc')).includes('grouped'));
    assert.ok(!(await namesSeenBy('readonly-user')).includes('grouped'));
    const statuses = async (method: string, body?: unknown) => {
      const of = async (as: string): Promise<number> => (await call({ as, method, id, body })).status;
      return Promise.all(['readonly-user', 'reader-ops', 'engineering-user', 'eng-noc', 'eng-ops'].map(of));
    };
    assert.deepEqual(await statuses('GET'), [404, 200, 404, 200, 200]);
    assert.deepEqual(await statuses('PATCH', { data: { formId: 'f' } }), [403, 403, 404, 403, 200]);
  });

  test('a change of the groups is in force for the next request', async () => {
    const { _id: id } = await created({ name: 'regrouped' });
    assert.ok((await namesSeenBy('readonly-user')).includes('regrouped'));
    const { status } = await call({ as: 'eng-noc', method: 'PATCH', id, body: { data: { gbac: { read: ['noc'] } } } });
    assert.equal(status, 200);
    assert.ok(!(await namesSeenBy('readonly-user')).includes('regrouped'));
    assertProblem(await call({ as: 'eng-ops', id }), 404, 'automation-not-found');
    assertProblem(await call({ as: 'eng-ops', method: 'DELETE', id }), 404, 'automation-not-found');
  });

  test('engineering reads what it may write, and nothing that it may not', async () => {
    const { _id: open } = await created({ name: 'writable by all' });
    const { _id: kept } = await created({ name: 'writable by noc', data: { gbac: { write: ['noc'] } } });
    assert.equal((await call({ as: 'engineering-user', id: open })).status, 200);
    assertProblem(await call({ as: 'engineering-user', id: kept }), 404, 'automation-not-found');
    assertProblem(await call({ as: 'engineering-user', method: 'DELETE', id: kept }), 404, 'automation-not-found');
    assertProblem(await call({ as: 'engineering-user' }), 403, 'forbidden');
  });
});
