import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { bucketOf, type CountedEnds, microseconds, summarizeEnds } from './rollup.ts';

test('p50 and p95 are within 10 % of the exact ones, and the greatest is exact', () => {
  const duration = fc.double({ min: 0.1, max: 604_800_000, noNaN: true });
  fc.assert(
    fc.property(fc.array(duration, { minLength: 1, maxLength: 300 }), (durations) => {
      const lengths = durations.map((each) => microseconds({ duration: each })).toSorted((one, other) => one - other);
      const rows = lengths.map((length): CountedEnds => ({ status: 'ok', bucket: bucketOf(length), ends: 1, longest: length }));
      const { counts, p50 = -1, p95 = -1, max } = summarizeEnds(rows);
      assert.deepEqual([counts, max], [{ ok: lengths.length }, (lengths.at(-1) ?? 0) / 1_000]);
      for (const [part, found] of [
        [0.5, p50],
        [0.95, p95],
      ] as const) {
        const exact = (lengths[Math.ceil(part * lengths.length) - 1] ?? 0) / 1_000;
        assert.ok(Math.abs(found - exact) <= exact * 0.1, `${found} for ${exact}`);
      }
    }),
  );
});

test('a step without an end has no times, and one whose only end was taken back has none either', () => {
  assert.deepEqual(summarizeEnds([]), { counts: {} });
  assert.deepEqual(summarizeEnds([{ status: 'ok', bucket: 3, ends: 0, longest: 9 }]), { counts: {} });
});
