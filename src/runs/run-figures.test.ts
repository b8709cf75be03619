import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRunFigures } from './run-figures.ts';
import type { RunCounts } from './run-queries.ts';
import { createStoppedClock } from './run-records.test-support.ts';

const counted = (lateness: number): RunCounts => ({ byStatus: new Map([['waiting', 1]]), lateness });

/** A store that counts how often it was asked, and answers with that as lateness. */
function askedStore() {
  const clock = createStoppedClock();
  let times = 0;
  let answer = async (asked: number): Promise<RunCounts> => counted(asked);
  const figures = createRunFigures({ clock, counts: () => answer((times += 1)) });
  return {
    clock,
    figures,
    asked: () => times,
    answers: (next: typeof answer) => void (answer = next),
  };
}

test('the figures of runs are asked of the store once in five seconds at most, and all who ask get them', async () => {
  const { clock, figures, asked } = askedStore();
  const all = await Promise.all([figures(), figures(), figures()]);
  assert.deepEqual(all, [counted(1), counted(1), counted(1)]);
  clock.pass(4_999);
  assert.deepEqual(await figures(), counted(1));
  assert.equal(asked(), 1);
  clock.pass(1);
  assert.deepEqual(await figures(), counted(2));
});

test('the figures of runs of a store that is away are the last ones for a minute, then none', async () => {
  const { clock, figures, answers, asked } = askedStore();
  await figures();
  answers(() => Promise.reject(new Error('away')));
  clock.pass(59_999);
  assert.deepEqual(await figures(), counted(1));
  clock.pass(1);
  assert.equal(await figures(), undefined);
  assert.equal(asked(), 2);
  clock.pass(5_000);
  answers(async () => counted(7));
  assert.deepEqual(await figures(), counted(7));
});

test('the figures of runs do not wait for a store that is slow, and are its answer once it comes', async () => {
  const { clock, figures, answers, asked } = askedStore();
  const slow = Promise.withResolvers<RunCounts>();
  answers(() => slow.promise);
  assert.equal(await figures(), undefined);
  clock.pass(10_000);
  assert.equal(await figures(), undefined);
  assert.equal(asked(), 1, 'two counts at a time');
  slow.resolve(counted(3));
  assert.deepEqual(await figures(), counted(3));
});
