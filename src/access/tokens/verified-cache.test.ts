import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createVerifiedCache } from './verified-cache.ts';

function filled(...keys: readonly string[]) {
  const cache = createVerifiedCache<string>({ entries: 3 });
  for (const key of keys) cache.set(key, key);
  return { cache, kept: (...asked: readonly string[]) => asked.filter((key) => cache.get(key) === key) };
}

test('a full cache drops the oldest entry that was not read', () => {
  const { cache, kept } = filled('a', 'b', 'c');
  cache.get('a');
  cache.set('d', 'd');
  assert.deepEqual(kept('a', 'b', 'c', 'd'), ['a', 'c', 'd']);
});

test('a full cache whose entries were all read drops the oldest one, and keeps the new entry', () => {
  const { cache, kept } = filled('a', 'b', 'c');
  for (const key of ['a', 'b', 'c']) cache.get(key);
  cache.set('d', 'd');
  assert.deepEqual(kept('a', 'b', 'c', 'd'), ['b', 'c', 'd']);
});

test('the cache never exceeds its limit, and always has the entry that was set last', () => {
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

test('an entry that is deleted by its value is gone', () => {
  const { cache, kept } = filled('a', 'b');
  cache.deleteWhere((value) => value === 'a');
  assert.deepEqual(kept('a', 'b'), ['b']);
});
