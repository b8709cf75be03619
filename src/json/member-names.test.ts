import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { stringToken } from './json-texts.test-support.ts';
import { groupByName, type NameGroups } from './member-names.ts';

function groupsOf(tokens: readonly string[]): NameGroups | undefined {
  const ends: number[] = [];
  let size = 0;
  for (const token of tokens) ends.push((size += Buffer.byteLength(token)));
  return groupByName({
    bytes: Buffer.from(tokens.join('')),
    count: tokens.length,
    start: (index) => ends[index - 1] ?? 0,
    end: (index) => ends[index] ?? 0,
  });
}

/** The expected result, computed with JSON.parse. */
function expectedOf(tokens: readonly string[]): { readonly next: number[]; readonly repeats: number[] } | undefined {
  const names = tokens.map((token) => JSON.parse(token) as string);
  if (new Set(names).size === names.length) return undefined;
  return {
    next: names.map((name, index) => Math.max(0, names.indexOf(name, index + 1))),
    repeats: names.map((name, index) => Number(names.indexOf(name) < index)),
  };
}

/** Every character as an escape, with four digits for each UTF-16 code unit. */
function spelled(token: string): string {
  const name = JSON.parse(token) as string;
  return `"${Array.from({ length: name.length }, (_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
}

const tokens = fc.array(stringToken, { minLength: 1, maxLength: 30 }).chain((some) =>
  fc.array(
    fc.constantFrom(...some, ...some.map(spelled), ...some.map((token) => spelled(token).toUpperCase().replaceAll('\\U', '\\u'))),
    {
      minLength: 1,
      maxLength: 60,
    },
  ),
);

test('names are equal exactly if JSON.parse gives equal strings, in any spelling', () => {
  fc.assert(
    fc.property(tokens, (each) => {
      const found = groupsOf(each);
      assert.deepEqual(found && { next: [...found.next], repeats: [...found.repeats] }, expectedOf(each));
    }),
  );
});

test('a lone surrogate differs from every other surrogate and from U+FFFD', () => {
  for (const others of [
    ['"\\ud83d"', '"\\ude00"', '"\\ufffd"', '"😀"'],
    ['"\\ude00\\ud83d"', '"😀"'],
    ['"\\ud83d\\u0061"', '"\\ud83da"'.replace('a"', 'b"')],
  ])
    assert.equal(groupsOf(others), undefined, others.join());
  assert.deepEqual([...(groupsOf(['"\\ud83d\\ude00"', '"😀"'])?.next ?? [])], [1, 0]);
});

test('a repeated name is found among many names', () => {
  const many = Array.from({ length: 100_000 }, (_, index) => `"${index.toString(36)}"`);
  assert.equal(groupsOf(many), undefined);
  const found = groupsOf([...many, '"\\u0030"']);
  assert.equal(found?.next[0], 100_000);
  assert.equal(found.repeats.indexOf(1), 100_000);
});
