import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '#base/any-text.test-support.ts';
import { packRows, unpackRows } from './packed-values.ts';

function passed(sent: readonly (readonly unknown[])[], ...counts: readonly number[]): readonly unknown[] {
  return [...unpackRows(structuredClone(packRows(sent)), counts)];
}

const value = fc.oneof(anyText(), fc.double({ noNaN: true }), fc.integer(), fc.constant(null));
const rows = fc.integer({ min: 1, max: 5 }).chain((width) => fc.array(fc.array(value, { minLength: width, maxLength: width })));

test('rows of texts, numbers and nulls come out of a message as they went in', () => {
  fc.assert(
    fc.property(rows, (sent) => {
      assert.deepEqual(passed(sent), sent);
    }),
  );
});

test('rows come in lists of so many at once, and one by one where fewer are left', () => {
  const sent = [
    ['a', 1],
    ['b', null],
    ['c', 3],
    ['d', 4],
    ['e', 5],
  ];
  assert.deepEqual(passed(sent, 2), [
    ['a', 1, 'b', null],
    ['c', 3, 'd', 4],
    ['e', 5],
  ]);
  assert.deepEqual(passed(sent, 5), [sent.flat()]);
  assert.deepEqual(passed(sent, 6), sent);
  assert.deepEqual(passed(sent, 6, 3), [sent.slice(0, 3).flat(), ...sent.slice(3)]);
});

test('halves of a surrogate pair stay in the rows they came in', () => {
  const sent = [['a\uD83D'], ['\uDE00b']];
  assert.deepEqual(passed(sent), sent);
});

test('what is no value of a row is refused', () => {
  for (const bad of [Number.NaN, undefined, true, new Uint8Array(1), 1n]) assert.throws(() => packRows([['a', bad]]), TypeError);
  assert.throws(() => packRows([['a'], ['b', 'c']]), TypeError);
});
