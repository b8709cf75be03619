// suite: long

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createExpressionPool } from '../jq/expression-pool.ts';
import { expressionIn, isBalanced } from './jq-source.ts';

const pool = createExpressionPool({ threads: 2, timeLimit: 10_000 });
after(() => pool.close());

test('a text is one expression, has some within it, or has none', () => {
  for (const [text, expected] of [
    ['${ .a }', '.a'],
    [' ${.a}\n', '.a'],
    ['${ {"a": {"b": "}"}} }', '{"a": {"b": "}"}}'],
    ['${ "\\("}")" }', '"\\("}")"'],
    ['${ .a # } }', '.a # }'],
    ['${ .a) | (.b }', '.a) | (.b'],
    ['${}', ''],
  ] as const)
    assert.deepEqual(expressionIn(text), { expression: expected }, text);
  for (const text of ['a ${ .b }', '${ .a } ${ .b }', '${ .a }x']) assert.equal(expressionIn(text), 'partial', text);
  for (const text of ['', '.a', '$a', '{ .a }', '${ .a', '$ {.a}']) assert.equal(expressionIn(text), undefined, text);
});

const pieces = [
  '.a',
  '.',
  '1',
  '"a"',
  '"',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '\\(',
  '\\',
  ',',
  '|',
  '#',
  '\n',
  ' ',
  ';',
  '$x',
  'not',
  '@json',
  '?//',
  'as $y |',
];
const statements = [
  'def f: 1;',
  'import "a" as a;',
  'if . then 1 else 2 end',
  'if . then',
  'end',
  'reduce . as $z (0; .)',
  '{a: 1}',
  '"\\(.a)"',
];

/** Text that looks like jq, and often is. */
const source = fc.array(fc.constantFrom(...pieces, ...statements), { minLength: 1, maxLength: 7 }).map((parts) => parts.join(''));

test('two balanced texts compile together exactly where each compiles alone', async () => {
  let compiled = 0;
  const compiles = async (jq: string): Promise<boolean> => (await pool.problemOf(jq, ['x'])) === undefined;
  await fc.assert(
    fc.asyncProperty(source.filter(isBalanced), source.filter(isBalanced), async (first, second) => {
      const [a, b, both] = await Promise.all([first, second, `(${first}\n), (${second}\n)`].map(compiles));
      assert.equal(both, [a, b].every(Boolean));
      if (both ?? false) compiled += 1;
    }),
    { numRuns: 500 },
  );
  assert.ok(compiled > 5, `only ${compiled} pairs compiled`);
});
