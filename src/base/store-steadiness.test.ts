import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreSteadiness } from './store-steadiness.ts';

test('a store is steady once it has taken writes for a lease, and not after a time without one', () => {
  let now = 0;
  const steady = new StoreSteadiness({ monotonic: () => now }, { dialect: 'postgres' });
  const seen: boolean[] = [];
  const writeFor = (time: number): void => {
    for (const end = now + time; now < end; now += 2_500) steady.wrote();
    seen.push(steady.isSteady);
  };
  writeFor(7_500);
  writeFor(5_000);
  now += 5_000;
  seen.push(steady.isSteady);
  writeFor(7_500);
  writeFor(5_000);
  assert.deepEqual(seen, [false, true, false, false, true]);
  assert.equal(new StoreSteadiness({ monotonic: () => now }, { dialect: 'sqlite' }).isSteady, true);
});
