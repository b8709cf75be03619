import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { UnchainedEntry } from './hash-chain.ts';
import { type Waiting, WaitingEntries } from './waiting-entries.ts';

const plain = { noNullPrototype: true };
const members = {
  kind: fc.constantFrom('record', 'outcome', 'intent', 'step'),
  call: fc.nat(),
  at: fc.nat(),
  principal: fc.option(fc.string(), { nil: undefined }),
  adapter: fc.option(fc.string(), { nil: undefined }),
  // Like the output of JSON.stringify: no lone surrogates.
  facts: fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.integer({ min: 0, max: 40_000 }).map((length) => 'ü€𐍈x'.repeat(length / 5)),
  ),
  key: fc.option(fc.record({ kind: fc.constant('end'), state: fc.constant('done'), reply: fc.string() }, plain), {
    nil: undefined,
  }),
} as const;
const entry: fc.Arbitrary<UnchainedEntry> = fc.record(members, plain);
const waiting: fc.Arbitrary<Waiting> = fc.record({ entry, kind: fc.constantFrom('background', 'awaited') }, plain);
const step = fc.oneof(waiting, fc.integer({ min: 1, max: 6 }));

test('entries come out unchanged and in order, however many are taken at once', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const entries = new WaitingEntries();
      let expected: Waiting[] = [];
      for (const step of steps) {
        if (typeof step === 'number') {
          assert.deepEqual(entries.take(step), expected.slice(0, step));
          expected = expected.slice(step);
        } else {
          entries.push(step);
          expected.push(step);
        }
        assert.equal(entries.count, expected.length);
      }
      assert.deepEqual(entries.take(entries.count), expected);
      assert.equal(entries.size, 0);
    }),
  );
});

test('the size is the bytes of the facts plus the length of the replies', () => {
  const entries = new WaitingEntries();
  const first = { kind: 'record', call: 1, at: 2, facts: '{"a":"ü"}' } as const;
  entries.push({ entry: first, kind: 'background' });
  assert.equal(entries.size, 10);
  entries.push({ entry: { ...first, key: { kind: 'end', state: 'done', reply: 'sealed' } }, kind: 'awaited' });
  assert.equal(entries.size, 26);
  entries.take(1);
  assert.equal(entries.size, 16);
});
