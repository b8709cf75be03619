// suite: long

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createSchemaThreads } from './schema-threads.ts';

// A slow machine takes more than the usual second for some of these.
const threads = createSchemaThreads({ threads: 2, timeLimit: 60_000 });
after(() => threads.close());

async function problems(schema: unknown, value: unknown): Promise<readonly string[]> {
  const answer = await threads.problemsOf({ schema: JSON.stringify(schema), value: JSON.stringify(value) });
  assert.ok(Array.isArray(answer), JSON.stringify(answer));
  return answer as readonly string[];
}

async function faultOf(schema: unknown): Promise<unknown> {
  const text = typeof schema === 'string' ? schema : JSON.stringify(schema);
  return await threads.problemsOf({ schema: text, value: '1' });
}

const wordings: readonly (readonly [schema: unknown, value: unknown, expected: readonly string[]])[] = [
  [{ properties: { vlan: { maximum: 4094 } } }, { vlan: 5000 }, ['/vlan must be at most 4094']],
  [{ type: 'object' }, [], ['the value must be an object']],
  [{ type: ['string', 'null'] }, 1, ['the value must be a string or null']],
  [false, 1, ['the value is not allowed here']],
  [{ required: ['a/b'] }, {}, ['/a~1b is required']],
  [{ dependentRequired: { a: ['b'] } }, { a: 1 }, ['/b is required where "a" is given']],
  [{ dependencies: { a: ['b'] } }, { a: 1 }, ['/b is required where "a" is given']],
  [
    { properties: { a: true }, additionalProperties: false },
    { a: 1, b: 2 },
    ['/b is not known; leave it out, or correct its name'],
  ],
  [
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    { a: 1, b: 2 },
    ['/b is not known; leave it out, or correct its name'],
  ],
  [{ prefixItems: [true], unevaluatedItems: false }, [1, 2], ['/1 is one item too many']],
  [{ items: [true], additionalItems: false }, [1, 2], ['/1 is not allowed here']],
  [{ enum: ['a', 1] }, 'b', ['the value must be one of "a", 1']],
  [{ const: { a: 1 } }, 'b', ['the value must be {"a":1}']],
  [{ minimum: 2 }, 1, ['the value must be at least 2']],
  [{ exclusiveMinimum: 2 }, 2, ['the value must be greater than 2']],
  [{ exclusiveMaximum: 2 }, 2, ['the value must be less than 2']],
  [{ multipleOf: 0.01 }, 0.075, ['the value must be a multiple of 0.01']],
  [{ minLength: 2 }, '\u{1F600}', ['the value must have at least 2 characters']],
  [{ maxLength: 1 }, 'ab', ['the value must have at most 1 character']],
  [{ minItems: 1 }, [], ['the value must have at least 1 item']],
  [{ maxItems: 1 }, [1, 2], ['the value must have at most 1 item']],
  [{ minProperties: 1 }, {}, ['the value must have at least 1 member']],
  [{ maxProperties: 1 }, { a: 1, b: 1 }, ['the value must have at most 1 member']],
  [{ uniqueItems: true }, [1, 1], ['the value must not have the same item twice']],
  [{ pattern: '^\\p{Lu}' }, 'a', ['the value must match the pattern ^\\p{Lu}']],
  [{ format: 'ipv4' }, '1.2.3', ['the value must have the format ipv4']],
  [{ not: {} }, 1, ['the value must not satisfy the schema of "not"']],
  [JSON.parse('{"if":true,"then":{"minimum":5}}'), 1, ['the value must satisfy "then", which its "if" makes apply']],
  [{ if: false, else: { minimum: 5 } }, 1, ['the value must be at least 5']],
  [{ contains: { type: 'string' } }, [1], ['the value must have at least 1 item of the schema "contains"']],
  [{ propertyNames: { pattern: '^a' } }, { b: 1 }, ['/b has a name that is not allowed here']],
  [
    { properties: { a: { anyOf: [{ type: 'string' }, { properties: { b: { type: 'null' } } }] } } },
    { a: { b: 1 } },
    ['/a must satisfy one of the alternatives (anyOf): must be a string, or /b must be null'],
  ],
  [
    { oneOf: [{ type: 'number' }, { type: 'integer' }] },
    1,
    ['the value must satisfy one schema of oneOf alone, and satisfies several (number 0, 1)'],
  ],
];

describe('the problems of a value', () => {
  for (const [schema, value, expected] of wordings)
    test(`${JSON.stringify(schema)} are in plain words`, async () => {
      assert.deepEqual(await problems(schema, value), expected);
    });

  test('are the same where a name is written as an escape, after a value with a backslash as a name', async (t) => {
    const one = createSchemaThreads({ threads: 1, timeLimit: 60_000 });
    t.after(() => one.close());
    const schema = '{"properties":{"b":{"type":"number"}}}';
    for (const value of ['{"a":0,"\\\\":0}', '{"a":0,"\\\\":1}']) assert.deepEqual(await one.problemsOf({ schema, value }), []);
    assert.deepEqual(await one.problemsOf({ schema, value: '{"a":0,"\\u0062":"text"}' }), ['/b must be a number']);
  });

  test('are none where the value satisfies its schema', async () => {
    for (const [schema, value] of [
      [true, 1],
      [{ $ref: '#/$defs/name', $defs: { name: { type: 'string' } } }, 'a'],
      [{ $id: 'https://e.example/root', items: { $ref: 'item' }, $defs: { i: { $id: 'item', type: 'string' } } }, ['a']],
      [{ items: { $ref: '#here' }, definitions: { a: { $id: '#here', type: 'string' } } }, ['a']],
      [{ items: { $ref: '#here' }, $defs: { a: { $anchor: 'here', type: 'string' } } }, ['a']],
      [{ properties: { $ref: { type: 'string' }, enum: true } }, { $ref: 'a', enum: 1 }],
      [{ format: 'of-our-own', unknown: 1, minimum: 5 }, 'a'],
      [{ const: 1 }, 1.0],
    ] as const)
      assert.deepEqual(await problems(schema, value), [], JSON.stringify(schema));
  });

  test('are at most 100', async () => {
    assert.equal(
      (
        await problems(
          { items: { type: 'string' } },
          Array.from({ length: 500 }, () => 1),
        )
      ).length,
      100,
    );
  });

  test('are found in recursive schemas', async () => {
    const schema = { $ref: '#/$defs/list', $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } };
    assert.deepEqual(await problems(schema, [[[]], [1]]), ['/1/0 must be an array']);
    const tree = {
      $id: 'https://e.example/tree',
      $dynamicAnchor: 'node',
      properties: { next: { $dynamicRef: '#node' } },
      type: 'object',
    };
    assert.deepEqual(await problems(tree, { next: { next: 1 } }), ['/next/next must be an object']);
  });
});

describe('a schema that is wrong', () => {
  const cases: readonly (readonly [schema: unknown, pointer: string, detail: RegExp])[] = [
    ['{', '', /is no JSON/u],
    [[1], '', /must be an object or true or false/u],
    [{ properties: { a: { minimum: 'x' } } }, '/properties/a/minimum', /must be a number/u],
    [{ items: { type: 'text' } }, '/items/type', /"string", "number"/u],
    [{ properties: { a: { pattern: '(' } } }, '/properties/a/pattern', /regex/u],
    [{ patternProperties: { '(': {} } }, '/patternProperties/(', /not allowed/u],
    [{ allOf: [{ $ref: 'https://e.example/other' }] }, '/allOf/0/$ref', /another document/u],
    [{ $ref: 'file:///etc/passwd' }, '/$ref', /another document/u],
    [{ $ref: '#/$defs/none', $defs: {} }, '/$ref', /names nothing/u],
    [{ $dynamicRef: '#none' }, '/$dynamicRef', /names nothing/u],
    [{ $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema', /2020-12/u],
    [{ exclusiveMaximum: true }, '/exclusiveMaximum', /must be a number/u],
    [{ $ref: '#' }, '', /leads to itself/u],
    [`${'{"not":'.repeat(20_000)}{}${'}'.repeat(20_000)}`, '', /nested too deeply/u],
  ];
  for (const [schema, pointer, detail] of cases)
    test(`is a fault at "${pointer}": ${JSON.stringify(schema).slice(0, 60)}`, async () => {
      const fault = (await faultOf(schema)) as { readonly pointer: string; readonly detail: string };
      assert.equal(fault.pointer, pointer);
      assert.match(fault.detail, detail);
    });
});

describe('a schema without end', () => {
  const runaway = { schema: JSON.stringify({ pattern: '^(a+)+$' }), value: JSON.stringify(`${'a'.repeat(60)}b`) };

  test('ends at the time limit, and its thread is replaced', async (t) => {
    const usual = createSchemaThreads({ threads: 2 });
    t.after(() => usual.close());
    assert.match(JSON.stringify(await usual.problemsOf(runaway)), /no value could be judged within 1000 ms/u);
    const afterwards = await Promise.all(Array.from({ length: 4 }, () => usual.problemsOf({ schema: 'true', value: '1' })));
    assert.deepEqual(afterwards, [[], [], [], []]);
  });

  test('does not hold up others', async () => {
    const two = createSchemaThreads({ threads: 2, timeLimit: 600_000 });
    const judged = assert.rejects(two.problemsOf(runaway), /closed/u);
    for (let at = 0; at < 5; at += 1) assert.deepEqual(await two.problemsOf({ schema: '{"type":"object"}', value: '{}' }), []);
    await two.close();
    await judged;
  });

  test('ends at the memory limit, and its thread is replaced', async () => {
    const one = createSchemaThreads({ threads: 1, timeLimit: 600_000, memoryLimit: 16 });
    after(() => one.close());
    const value = `[${'{"a":{}},'.repeat(500_000)}1]`;
    assert.match(JSON.stringify(await one.problemsOf({ schema: 'true', value })), /within 16 MiB of memory/u);
    assert.deepEqual(await one.problemsOf({ schema: 'true', value: '1' }), []);
  });

  test('ends with its gateway', async () => {
    const one = createSchemaThreads({ threads: 1, timeLimit: 60_000 });
    const judged = assert.rejects(one.problemsOf(runaway), /closed/u);
    await one.close();
    await judged;
    await assert.rejects(one.problemsOf(runaway), /closed/u);
  });
});
