import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, pointersOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';

// GET /automation_catalog/automations on an empty catalogue.

const gateway = await startGateway({ after });

function list(query: string): Promise<Reply> {
  return gateway.send({ target: `/automation_catalog/automations${query}`, role: 'readonly' });
}

const whole = (value: unknown): string => `?queryParameters=${encodeURIComponent(JSON.stringify(value))}`;

/** The same options in the three forms that queryParameters may take. */
function forms(options: Readonly<Record<string, string | number>>): readonly string[] {
  const entries = Object.entries(options);
  const plain = entries.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const bracketed = entries.map(([name, value]) => `queryParameters[${name}]=${encodeURIComponent(value)}`).join('&');
  const encoded = entries.map(([name, value]) => `queryParameters%5B${name}%5D=${encodeURIComponent(value)}`).join('&');
  return [`?${plain}`, `?${bracketed}`, `?${encoded}`, whole(options)];
}

describe('an empty catalogue', () => {
  for (const query of ['', '?', '?queryParameters=%7B%7D']) {
    test(`is an empty list with the defaults in effect: ${JSON.stringify(query)}`, async () => {
      const reply = await list(query);
      assert.equal(reply.status, 200, reply.text);
      assert.match(reply.header('content-type') ?? '', /^application\/json/);
      assert.deepEqual(reply.json(), { list: [], total: 0, skip: 0, limit: 100 });
    });
  }

  const accepted: readonly (readonly [Readonly<Record<string, string | number>>, number, number])[] = [
    [{ limit: 50, skip: 100 }, 50, 100],
    [{ limit: 0 }, 0, 0],
    [{ limit: 1000 }, 1000, 0],
    [{ skip: 2_000_000_000 }, 100, 2_000_000_000],
    [{ sort: 'data.lastUpdated', order: -1 }, 100, 0],
    [{ sort: '_id', order: 1 }, 100, 0],
    [{ contains: 'ä&=+%', containsField: 'data.description', limit: 1 }, 1, 0],
    [{ equals: 'x' }, 100, 0],
    [{ startsWith: 'a', startsWithField: 'lastModifiedBy', equals: 'b', equalsField: '_id', contains: 'c' }, 100, 0],
  ];
  for (const [options, limit, skip] of accepted) {
    for (const query of forms(options)) {
      test(`answers the values in effect for ${query}`, async () => {
        const reply = await list(query);
        assert.equal(reply.status, 200, reply.text);
        assert.deepEqual(reply.json(), { list: [], total: 0, skip, limit });
      });
    }
  }

  for (const field of [
    'name',
    'lastRunAt',
    'nextRunAt',
    'repeatInterval',
    'data.workflowId',
    'data.formId',
    'lastModifiedBy',
    'data.description',
  ]) {
    test(`can be sorted and searched by ${field}`, async () => {
      const reply = await list(`?sort=${field}&equals=x&equalsField=${field}&containsField=${field}&contains=y`);
      assert.equal(reply.status, 200, reply.text);
    });
  }
});

describe('a wrong option is 400', () => {
  const wrong: readonly Readonly<Record<string, string | number>>[] = [
    { limit: -1 },
    { limit: 1001 },
    { limit: 1.5 },
    { limit: 'ten' },
    { limit: '' },
    { skip: -1 },
    { skip: 'x' },
    { skip: '1e3' },
    { skip: '9007199254740993' },
    { order: 0 },
    { order: 2 },
    { order: 'asc' },
    { sort: 'password' },
    { sort: 'data' },
    { sort: 'data.gbac' },
    { sort: '' },
    { contains: 'x', containsField: 'nothing' },
    { equalsField: '__proto__', equals: 'x' },
    { startsWithField: 'constructor', startsWith: 'x' },
    { page: 1 },
    { Limit: 1 },
  ];
  for (const options of wrong) {
    for (const query of forms(options)) {
      test(query, async () => {
        const problem = assertProblem(await list(query), 400, 'invalid-request');
        assert.ok((problem.errors?.length ?? 0) > 0);
        for (const error of problem.errors ?? []) assert.match(error.pointer, /^\?/);
      });
    }
  }

  for (const query of [
    '?limit=1&limit=1',
    '?limit=1&limit=2',
    '?queryParameters=%7B%7D&queryParameters=%7B%7D',
    '?queryParameters[limit]=1&queryParameters[limit]=1',
    '?limit=1&queryParameters=%7B%22limit%22%3A1%7D',
    '?limit=1&queryParameters[skip]=1',
    '?queryParameters=%7B%7D&queryParameters[skip]=1',
    '?queryParameters=',
    '?queryParameters=5',
    '?queryParameters=null',
    '?queryParameters=[]',
    '?queryParameters=%7B',
    '?queryParameters=%7B%22limit%22%3A%221%22%7D',
    '?queryParameters=%7B%22limit%22%3A1%2C%22limit%22%3A1%7D',
    '?queryParameters=%7B%22__proto__%22%3A%7B%7D%7D',
    '?queryParameters[]=1',
    '?queryParameters[a][b]=1',
    '?queryparameters=%7B%7D',
    '?__proto__=1',
    '?limit=%ff',
    '?limit=%zz',
  ]) {
    test(query, async () => {
      assertProblem(await list(query), 400);
    });
  }

  test('and all problems are named at once', async () => {
    const problem = assertProblem(await list('?limit=-1&skip=x&sort=y&nonsense=1'), 400, 'invalid-request');
    assert.deepEqual((problem.errors ?? []).map((error) => error.pointer).sort(), ['?limit', '?nonsense', '?skip', '?sort']);
  });
});

test('a query that is not UTF-8 is refused, and is no search for U+FFFD, which is allowed', async () => {
  for (const [query, pointer] of [
    ['?contains=%ff', '?contains'],
    ['?queryParameters={"contains":"%c3"}', '?queryParameters'],
    ['?limit=1&startsWith=%EF%BF', '?startsWith'],
  ] as const) {
    assert.deepEqual(pointersOf(assertProblem(await list(query), 400, 'invalid-request')), [pointer]);
  }
  assert.equal((await list('?contains=%ef%bf%bd')).status, 200);
});

test('a caller whose role may not list gets the role to add', async () => {
  const reply = await gateway.send({ target: '/automation_catalog/automations', role: 'engineering' });
  const { detail } = assertProblem(reply, 403, 'forbidden');
  assert.match(detail, /; you have engineering\. An operator can add readonly to your roles\.$/u);
});

test('a body is not part of the request', async () => {
  const reply = await gateway.send({
    target: '/automation_catalog/automations',
    role: 'admin',
    headers: { 'Content-Type': 'application/json' },
    body: '{"limit":1}',
  });
  assert.ok(reply.status === 200 || reply.status === 400, reply.text);
});
