import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fitting, pageBytes, visiblePage } from './visible-page.ts';

interface Row {
  readonly at: number;
  readonly size: number;
  readonly isVisible: boolean;
}

const row = fc.record({ size: fc.constantFrom(1, 1_000, pageBytes / 3, pageBytes, 2 * pageBytes), isVisible: fc.boolean() });

test('the pages of a list have each visible entry once, in order, and at most 4 MiB or one entry', async () => {
  const property = fc.asyncProperty(
    fc.array(row, { maxLength: 40 }),
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 1, max: 9 }),
    async (given, limit, atOnce) => {
      const rows = given.map((one, at): Row => ({ ...one, at }));
      const seen: Row[] = [];
      let after: number | undefined;
      do {
        const page = await visiblePage<Row, number>({
          limit,
          after,
          atOnce,
          read: async (most, place = -1) => rows.filter(({ at }) => at > place).slice(0, most),
          sees: ({ isVisible }) => isVisible,
          placeOf: ({ at }) => at,
          sizeOf: ({ size }) => size,
        });
        const bytes = page.list.reduce((sum, { size }) => sum + size, 0);
        assert.ok(page.list.length <= limit && (page.list.length <= 1 || bytes <= pageBytes));
        seen.push(...page.list);
        after = page.next;
      } while (after !== undefined);
      assert.deepEqual(
        seen,
        rows.filter(({ isVisible }) => isVisible),
      );
    },
  );
  await fc.assert(property);
});

test('as many rows fit as have 4 MiB together, and one in any case', () => {
  assert.equal(fitting([]), 0);
  assert.equal(fitting([2 * pageBytes, 1]), 1);
  assert.equal(fitting([pageBytes / 2, pageBytes / 2, 1]), 2);
});
