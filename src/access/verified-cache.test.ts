import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createVerifiedCache } from './verified-cache.ts';

function filled(...keys: readonly string[]) {
  const cache = createVerifiedCache<string>({ entries: 3 });
  for (const key of keys) cache.set(key, key);
  return { cache, kept: (...asked: readonly string[]) => asked.filter((key) => cache.get(key) === key) };
}

test('the oldest goes first of those that nobody asked for', () => {
  const { cache, kept } = filled('a', 'b', 'c');
  cache.get('a');
  cache.set('d', 'd');
  assert.deepEqual(kept('a', 'b', 'c', 'd'), ['a', 'c', 'd']);
});

test('where all were asked for the oldest goes, and what is new stays', () => {
  const { cache, kept } = filled('a', 'b', 'c');
  for (const key of ['a', 'b', 'c']) cache.get(key);
  cache.set('d', 'd');
  assert.deepEqual(kept('a', 'b', 'c', 'd'), ['b', 'c', 'd']);
});

test('however it is used it holds no more than it may, and always what was set last', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key)), key, (uses, last) => {
      const { cache, kept } = filled();
      for (const [sets, used] of uses) {
        if (sets) cache.set(used, used);
        else cache.get(used);
      }
      cache.set(last, last);
      assert.equal(cache.get(last), last);
      assert.ok(kept('a', 'b', 'c', 'd', 'e', 'f').length <= 3);
    }),
  );
});

test('what is forgotten by its value is gone', () => {
  const { cache, kept } = filled('a', 'b');
  cache.deleteWhere((value) => value === 'a');
  assert.deepEqual(kept('a', 'b'), ['b']);
});
