import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { chained, emptyChain } from './hash-chain.ts';

const key = createSecretKey(Buffer.alloc(32, 1));
const entry = (at: number) => ({ kind: 'record' as const, call: 0, at, facts: `{"at":${at}}` });

test('a clock that is set back does not turn the order of a chain round', () => {
  const { entries, head } = chained({ key, chain: 'c', head: emptyChain('c'), entries: [5, 3, 9].map(entry) });
  assert.deepEqual(
    entries.map(({ seq, at }) => [seq, at]),
    [
      [1, 5],
      [2, 5],
      [3, 9],
    ],
  );
  assert.deepEqual(
    chained({ key, chain: 'c', head, entries: [entry(1)] }).entries.map(({ seq, at }) => [seq, at]),
    [[4, 9]],
  );
});
