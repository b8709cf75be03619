import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { createTalliedHistogram } from './tallied-histogram.ts';

const naming = { name: 'wait_seconds', help: 'How long it took.' };
const buckets = [0.001, 0.5, 1, 30];
const observations = fc.array(
  fc.tuple(
    fc.constantFrom('a', 'b "c"', ''),
    fc.oneof(fc.double({ min: 0, max: 60, noNaN: true }), fc.constantFrom(0, ...buckets)),
  ),
);

test('a tallied histogram has exactly the same text as prom-client’s own', async () => {
  await fc.assert(
    fc.asyncProperty(observations, async (all) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const tallied = createTalliedHistogram({ ...naming, labelName: 'route', buckets, registry: ours });
      const usual = new Histogram({ ...naming, labelNames: ['route'], buckets, registers: [theirs] });
      for (const [route, seconds] of all) {
        tallied.observe(route, seconds);
        usual.observe({ route }, seconds);
      }
      assert.equal(await ours.metrics(), await theirs.metrics());
    }),
  );
});
