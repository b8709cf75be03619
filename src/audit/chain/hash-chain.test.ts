import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { factsOf } from '../audit-entry.ts';
import { chained, emptyChain, recordsInEntry, type UnchainedEntry } from './hash-chain.ts';

const key = createSecretKey(Buffer.alloc(32, 1));
const entry = (at: number) => ({ kind: 'record' as const, call: 0, at, facts: `{"at":${at}}` });

test('a chain keeps its order when the clock is set back', () => {
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

/** Each entry is numbered in the order of arrival. */
const unchained = fc
  .array(
    fc.record({
      kind: fc.constantFrom('record', 'record', 'record', 'outcome', 'intent', 'step'),
      call: fc.constantFrom(0, 7, 8, 9),
      at: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 150 },
  )
  .map((entries) => entries.map((each, index): UnchainedEntry => ({ ...each, facts: `{"requestId":"${index}"}` })));

test('only records of calls in one millisecond share an entry, and all records keep their order', () => {
  fc.assert(
    fc.property(unchained, (given) => {
      const { entries } = chained({ key, chain: 'c', head: emptyChain('c'), entries: given });
      const said = entries.map((each) => factsOf(each).map(({ requestId }) => Number(requestId)));
      assert.deepEqual(said.flat(), [...given.keys()]);
      for (const [place, { kind, at }] of entries.entries()) {
        const parts = (said[place] ?? []).map((index) => given[index]);
        const follows = entries[place - 1];
        assert.ok(parts.every((part) => part !== undefined && part.at <= at));
        assert.ok(follows === undefined || follows.at <= at);
        if (kind === 'records') {
          assert.ok(parts.length > 1 && parts.length <= recordsInEntry);
          assert.ok(parts.every((part) => part?.kind === 'record' && part.call > 0));
        } else assert.deepEqual([parts.length, parts[0]?.kind], [1, kind]);
      }
    }),
  );
});

test('an entry holds at most 32 records, takes no more once it is long, and has the number of the first call', () => {
  const made = (count: number, facts: string): readonly unknown[] => {
    const entries = Array.from({ length: count }, (_, index) => ({ kind: 'record' as const, call: index + 7, at: 5, facts }));
    return chained({ key, chain: 'c', head: emptyChain('c'), entries }).entries.map(({ kind, call }) => [kind, call]);
  };
  assert.deepEqual(made(65, '{}'), [
    ['records', 7],
    ['records', 39],
    ['record', 71],
  ]);
  assert.deepEqual(made(5, JSON.stringify({ address: 'x'.repeat(17_000) })), [
    ['records', 7],
    ['records', 9],
    ['record', 11],
  ]);
});
