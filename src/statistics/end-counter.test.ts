import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { EndCounter } from './end-counter.ts';
import type { EndedWork } from './rollup.ts';

const end: EndedWork = { kind: 'call', subject: 'NSO', status: 'ok', at: 1_800_000_000_000, duration: 5 };

function counterWithStore() {
  mock.timers.enable({ apis: ['setTimeout'] });
  const written: (readonly EndedWork[])[] = [];
  let isAway = false;
  const counter = new EndCounter((ends) => {
    if (isAway) return Promise.reject(new Error('the store is away'));
    written.push(ends);
    return Promise.resolve();
  });
  return { counter, written, away: (value: boolean) => (isAway = value) };
}

test('ends of one second are one write, with one element for each row', (t) => {
  t.after(() => mock.timers.reset());
  const { counter, written } = counterWithStore();
  for (let nth = 0; nth < 1_000; nth += 1) counter.add([{ ...end, duration: 5 + nth / 1e6 }]);
  counter.add([{ ...end, status: 'failed' }]);
  counter.add([]);
  mock.timers.tick(999);
  assert.deepEqual(written, []);
  mock.timers.tick(1);
  assert.deepEqual(written, [
    [
      { ...end, count: 1_000, duration: 5 + 999 / 1e6 },
      { ...end, status: 'failed', count: 1 },
    ],
  ]);
  mock.timers.tick(10_000);
  assert.equal(written.length, 1, 'nothing is written where nothing ended');
});

test('ends wait while the store is away, together with those that follow', async (t) => {
  t.after(() => mock.timers.reset());
  const { counter, written, away } = counterWithStore();
  away(true);
  counter.add([end]);
  mock.timers.tick(1_000);
  await setImmediate();
  counter.add([end, { ...end, count: -1 }]);
  away(false);
  mock.timers.tick(1_000);
  assert.deepEqual(written, [[{ ...end, count: 1 }]]);
});

test('a closed counter has written all that the store took, and asks it no more', async (t) => {
  t.after(() => mock.timers.reset());
  mock.timers.enable({ apis: ['setTimeout'] });
  const first = Promise.withResolvers<void>();
  const begun: number[] = [];
  const counter = new EndCounter((ends) => {
    begun.push(ends.length);
    return begun.length === 1 ? first.promise : Promise.reject(new Error('the store is away'));
  });
  counter.add([end]);
  mock.timers.tick(1_000);
  counter.add([end, { ...end, status: 'failed' }]);
  const closed = counter.close();
  await setImmediate();
  assert.deepEqual(begun, [1], 'it waits for the write under way');
  first.resolve();
  await closed;
  mock.timers.tick(10_000);
  assert.deepEqual(begun, [1, 2]);
});
