import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { type Gateway, startGateway, type TestRole } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// The forms that automations name: stored, listed, read and deleted.

const path = '/automation_catalog/forms';

interface Wish {
  readonly role?: TestRole;
  readonly method?: string;
  readonly id?: string;
  readonly query?: string;
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function call(gateway: Gateway, wish: Wish): Promise<Reply> {
  const { role = 'admin', method = 'GET', id, query = '', body, type = 'application/json', headers = {} } = wish;
  const target = `${path}${id === undefined ? '' : `/${id}`}${query}`;
  const sent = body === undefined ? headers : { 'Content-Type': type, ...headers };
  return gateway.send({ role, method, target, headers: sent, ...(body === undefined ? {} : { body }) });
}

function put(gateway: Gateway, id: string, body: string | Buffer, wish: Wish = {}): Promise<Reply> {
  return call(gateway, { method: 'PUT', id, body, ...wish });
}

/** With white space and digits that only the bytes keep. */
const form = `{ "type": "object",\n  "title": "VLAN",\n  "properties": { "vlan": { "type": "integer", "minimum": 2.0, "maximum": 4094 } } }\n`;

const whole = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  title: 'Everything',
  description: 'All that a form may have',
  properties: {
    site: { type: 'string', enum: ['a', 'b'], default: 'a', title: 'Site', description: 'Where' },
    name: { type: 'string', pattern: '^[a-z]+$', minLength: 1, maxLength: 10 },
    address: { type: 'string', format: 'ipv4' },
    vlan: { type: 'integer', minimum: 2, maximum: 4094, multipleOf: 2, default: 4 },
    ratio: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.5 },
    now: { type: 'boolean', default: false },
    tags: { type: 'array', items: { type: 'string', maxLength: 5 }, minItems: 1, maxItems: 3, uniqueItems: true, default: ['x'] },
    'a/b': { type: 'string', default: '' },
  },
  required: ['site', 'a/b'],
  additionalProperties: false,
};

eachStore((store) => {
  let gateway: Gateway;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    gateway = await gatewayOn(store, { after: (cleanup) => void cleanups.push(cleanup) });
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  async function problemsOf(document: unknown): Promise<ReadonlyMap<string, string>> {
    const reply = await put(gateway, 'wrong', typeof document === 'string' ? document : JSON.stringify(document));
    const { errors = [] } = assertProblem(reply, 400, 'form-invalid');
    return new Map(errors.map(({ pointer, detail }) => [pointer, detail]));
  }

  describe('storing a form', () => {
    test('answers 201 where it is new and 200 where it replaces one, and it can be read as it was written', async () => {
      const created = await put(gateway, 'vlan', form, { role: 'engineering' });
      assert.deepEqual([created.status, created.text], [201, form]);
      assert.equal(created.header('location'), `${path}/vlan`);
      const read = await call(gateway, { id: 'vlan', role: 'apiread' });
      assert.deepEqual([read.status, read.text, read.header('content-type')], [200, form, 'application/json']);
      assert.equal(read.header('etag'), created.header('etag'));
      const other = form.replace('4094', '100');
      const replaced = await put(gateway, 'vlan', other, { type: 'application/schema+json' });
      assert.deepEqual([replaced.status, replaced.header('location')], [200, undefined]);
      assert.notEqual(replaced.header('etag'), created.header('etag'));
      assert.equal((await call(gateway, { id: 'vlan' })).text, other);
    });

    test('takes all that a form may have', async () => {
      const reply = await put(gateway, 'whole', JSON.stringify(whole));
      assert.equal(reply.status, 201, reply.text);
    });

    test('holds to If-Match and If-None-Match', async () => {
      assertProblem(await put(gateway, 'tags', form, { headers: { 'If-Match': '*' } }), 412, 'precondition-failed');
      const created = await put(gateway, 'tags', form, { headers: { 'If-None-Match': '*' } });
      assert.equal(created.status, 201);
      assertProblem(await put(gateway, 'tags', form, { headers: { 'If-None-Match': '*' } }), 412, 'precondition-failed');
      const tag = created.header('etag') ?? '';
      const changed = await put(gateway, 'tags', `${form} `, { headers: { 'If-Match': tag } });
      assert.equal(changed.status, 200);
      const stale = assertProblem(await put(gateway, 'tags', form, { headers: { 'If-Match': tag } }), 412, 'precondition-failed');
      assert.match(stale.detail, /form/u);
      assert.equal((await call(gateway, { id: 'tags' })).text, `${form} `);
      assert.equal((await call(gateway, { id: 'tags', headers: { 'If-None-Match': changed.header('etag') ?? '' } })).status, 304);
      const remove = { method: 'DELETE', id: 'tags' };
      assertProblem(await call(gateway, { ...remove, headers: { 'If-Match': tag } }), 412, 'precondition-failed');
      assert.equal((await call(gateway, { ...remove, headers: { 'If-Match': changed.header('etag') ?? '' } })).status, 204);
    });

    test('keeps one of two that come with If-None-Match at the same time', async () => {
      const both = await Promise.all(
        [form, `${form} `].map((body) => put(gateway, 'race', body, { headers: { 'If-None-Match': '*' } })),
      );
      assert.deepEqual(
        both.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 412],
      );
      const kept = both.find(({ status }) => status === 201);
      assert.equal((await call(gateway, { id: 'race' })).text, kept?.text);
    });

    test('names every problem at once, with its pointer and what is meant', async () => {
      const problems = await problemsOf({
        type: 'object',
        titel: 'x',
        properties: {
          a: { type: 'strin' },
          b: { type: 'string', patern: 'x', enum: ['x', 'x'], pattern: '(', format: 'ipv-4', minLength: 3, maxLength: 2 },
          c: { type: 'object', properties: {} },
          d: { type: 'array', items: { type: 'number' } },
          e: { type: 'array' },
          f: { $ref: '#/$defs/x' },
          g: { type: 'integer', minimum: '1', multipleOf: 0, enum: [1] },
          h: true,
          'i/j': { type: ['string', 'null'] },
        },
        required: ['a', 'A', 'a', 1],
        oneOf: [],
      });
      const expected: Readonly<Record<string, RegExp>> = {
        '/titel': /did you mean "title"/u,
        '/oneOf': /not part of a form/u,
        '/properties/a/type': /did you mean "string"/u,
        '/properties/b/patern': /did you mean "pattern"/u,
        '/properties/b/enum': /twice/u,
        '/properties/b/pattern': /regular expression/u,
        '/properties/b/format': /did you mean "ipv4"/u,
        '/properties/b/minLength': /at most maxLength/u,
        '/properties/c/type': /flat/u,
        '/properties/c/properties': /not part of a form/u,
        '/properties/d/items/type': /"string"/u,
        '/properties/e/items': /required/u,
        '/properties/f/$ref': /not part of a form/u,
        '/properties/f/type': /is required/u,
        '/properties/g/minimum': /number/u,
        '/properties/g/multipleOf': /greater than 0/u,
        '/properties/g/enum': /not part of a form/u,
        '/properties/h': /is true or false; write a schema/u,
        '/properties/i~1j/type': /must be one of/u,
        '/required/1': /did you mean "a"/u,
        '/required/2': /twice/u,
        '/required/3': /name of a field/u,
      };
      assert.deepEqual([...problems.keys()].toSorted(), Object.keys(expected).toSorted());
      for (const [pointer, detail] of Object.entries(expected)) assert.match(problems.get(pointer) ?? '', detail, pointer);
      assertProblem(await call(gateway, { id: 'wrong' }), 404, 'form-not-found');
    });

    test('gives the line and column of each problem', async () => {
      const document = '{\n\t"type": "object",\n\t"properties": {\n\t\t"a": { "type": "strin", "<<": 1 }\n\t}\n}';
      const { errors = [] } = assertProblem(await put(gateway, 'wrong', document), 400, 'form-invalid');
      assert.deepEqual(
        errors.map(({ pointer, line, column }) => [pointer, line, column]),
        [
          ['/properties/a/type', 4, 18],
          ['/properties/a/<<', 4, 27],
        ],
      );
      const { errors: syntax } = assertProblem(await put(gateway, 'wrong', '{\n "type": }'), 400, 'form-invalid');
      assert.deepEqual([syntax?.[0]?.line, syntax?.[0]?.column], [2, 10]);
    });

    test('refuses what is no object of fields', async () => {
      const pointers = async (document: unknown) => [...(await problemsOf(document)).keys()];
      assert.deepEqual(await pointers('{'), ['']);
      assert.deepEqual(await pointers('[]'), ['']);
      assert.deepEqual(await pointers({}), ['/type', '/properties']);
      assert.deepEqual(await pointers({ type: 'object', properties: [], $schema: 'http://json-schema.org/draft-07/schema#' }), [
        '/properties',
        '/$schema',
      ]);
      assert.deepEqual(await pointers('{"type":"object","type":"object","properties":{}}'), ['/type']);
      assert.deepEqual(await pointers({ type: 'object', properties: {}, additionalProperties: {} }), ['/additionalProperties']);
      assertProblem(await put(gateway, 'wrong', Buffer.from([0xff])), 400, 'form-invalid');
    });

    test('holds default values against their fields', async () => {
      const problems = await problemsOf({
        type: 'object',
        properties: {
          a: { type: 'integer', maximum: 5, default: 7 },
          'b/c': { type: 'array', items: { type: 'string' }, default: ['x', 1] },
          d: { type: 'string', default: null },
          e: { type: 'string' },
        },
        required: ['e'],
      });
      assert.deepEqual([...problems.keys()], ['/properties/a/default', '/properties/b~1c/default/1', '/properties/d/default']);
      assert.match(problems.get('/properties/a/default') ?? '', /at most 5/u);
    });

    test('refuses a pattern that does not end on its default value, and serves others meanwhile', async () => {
      const runaway = {
        type: 'object',
        properties: { a: { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(60)}b` } },
      };
      const [problems, others] = await Promise.all([
        problemsOf(runaway),
        Promise.all(Array.from({ length: 5 }, (_, at) => put(gateway, `other-${at}`, JSON.stringify(whole)))),
      ]);
      assert.match(problems.get('') ?? '', /within 1000 ms/u);
      assert.deepEqual(new Set(others.map(({ status }) => status)), new Set([201]));
    });

    test('refuses other media types, large documents and unusable ids', async () => {
      assertProblem(await put(gateway, 'other', form, { type: 'application/yaml' }), 415, 'unsupported-media-type');
      assertProblem(await put(gateway, 'other', `${' '.repeat(65_536)}${form}`), 413, 'body-too-large');
      for (const id of ['a%20b', 'x'.repeat(129), '%C3%A4']) {
        assertProblem(await put(gateway, id, form), 400, 'invalid-request');
        assertProblem(await call(gateway, { id }), 404, 'form-not-found');
        assertProblem(await call(gateway, { id, method: 'DELETE' }), 404, 'form-not-found');
      }
    });
  });

  test('deleting a form is 409 while an automation names it exactly', async () => {
    await put(gateway, 'named', form);
    const automation = (formId: string) =>
      gateway.send({
        role: 'admin',
        method: 'POST',
        target: '/automation_catalog/automations',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: `names ${formId}`, data: { formId } }),
      });
    const created = await automation('named');
    assert.equal((await automation('NAMED')).status, 201);
    const remove = { method: 'DELETE', id: 'named' };
    assertProblem(await call(gateway, remove), 409, 'form-in-use');
    await gateway.send({ role: 'admin', method: 'DELETE', target: created.header('location') ?? '' });
    assert.equal((await call(gateway, remove)).status, 204);
    assertProblem(await call(gateway, remove), 404, 'form-not-found');
  });

  test('the audit log has who stored and who deleted which form', async () => {
    await put(gateway, 'audited', form, { role: 'engineering' });
    await call(gateway, { method: 'DELETE', id: 'audited' });
    let found: readonly AuditRecord[] = [];
    await until('the records are stored', async () => {
      const reply = await gateway.send({ role: 'admin', target: '/audit?limit=1000' });
      const { list } = reply.json() as { readonly list: readonly AuditRecord[] };
      found = list.filter((record) => record.form?._id === 'audited');
      return found.length === 2;
    });
    assert.deepEqual(
      found.map(({ principal, route }) => [principal, route]),
      [
        ['admin-user', `DELETE ${path}/:id`],
        ['engineering-user', `PUT ${path}/:id`],
      ],
    );
  });

  test('the forms stay over a restart', async () => {
    await put(gateway, 'restarted', form);
    gateway = await gateway.restart();
    assert.equal((await call(gateway, { id: 'restarted' })).text, form);
  });
});

eachStore((store) => {
  test('the listing has pages of forms by id, with their titles and last changes', async (t) => {
    const gateway = await gatewayOn(store, t);
    assert.deepEqual((await call(gateway, {})).json(), { list: [], total: 0, skip: 0, limit: 100 });
    await put(gateway, 'b', form);
    await put(gateway, 'a', form.replace('VLAN', '\\u0000\\ud800'), { role: 'engineering' });
    await put(gateway, 'C', '{"type":"object","properties":{}}');
    const page = async (query: string, role: TestRole = 'readonly') => {
      const reply = await call(gateway, { query, role });
      assert.equal(reply.status, 200, reply.text);
      return reply.json() as { list: readonly Readonly<Record<string, unknown>>[]; total: number };
    };
    const { list, total } = await page('');
    assert.equal(total, 3);
    for (const { lastUpdated } of list) assert.match(String(lastUpdated), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
    assert.deepEqual(
      list.map(({ id, title, lastModifiedBy }) => (title === undefined ? { id, lastModifiedBy } : { id, title, lastModifiedBy })),
      [
        { id: 'C', lastModifiedBy: 'admin-user' },
        { id: 'a', title: '\0\ud800', lastModifiedBy: 'engineering-user' },
        { id: 'b', title: 'VLAN', lastModifiedBy: 'admin-user' },
      ],
    );
    const ids = async (query: string) => (await page(query)).list.map(({ id }) => id);
    assert.deepEqual(await ids('?limit=1&skip=1'), ['a']);
    assert.deepEqual(await ids('?limit=0'), []);
    assertProblem(await call(gateway, { query: '?limit=1001&sort=name' }), 400, 'invalid-request');
  });
});

function gatewayOn(store: TestStore, owner: Owner): Promise<Gateway> {
  return store.empty(owner).then((fresh) => startGateway(owner, { config: { store: { url: storeUrl(fresh) } } }));
}
