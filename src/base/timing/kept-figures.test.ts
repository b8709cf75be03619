import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeptFigures } from './kept-figures.ts';

/** A store that counts how often it was asked, and answers with that. */
function askedStore() {
  let time = 0;
  const clock = { now: () => time, monotonic: () => time, pass: (milliseconds: number) => void (time += milliseconds) };
  let times = 0;
  let answer = async (asked: number): Promise<number> => asked;
  const figures = createKeptFigures({ clock, ask: () => answer((times += 1)) });
  return {
    clock,
    figures,
    asked: () => times,
    answers: (next: typeof answer) => void (answer = next),
  };
}

test('figures are asked of the store once in five seconds at most, and all who ask get them', async () => {
  const { clock, figures, asked } = askedStore();
  const all = await Promise.all([figures(), figures(), figures()]);
  assert.deepEqual(all, [1, 1, 1]);
  clock.pass(4_999);
  assert.deepEqual(await figures(), 1);
  assert.equal(asked(), 1);
  clock.pass(1);
  assert.deepEqual(await figures(), 2);
});

test('figures of a store that is away are the last ones for a minute, then none', async () => {
  const { clock, figures, answers, asked } = askedStore();
  await figures();
  answers(() => Promise.reject(new Error('away')));
  clock.pass(59_999);
  assert.deepEqual(await figures(), 1);
  clock.pass(1);
  assert.equal(await figures(), undefined);
  assert.equal(asked(), 2);
  clock.pass(5_000);
  answers(async () => 7);
  assert.deepEqual(await figures(), 7);
});

test('figures do not wait for a store that is slow, and are its answer once it comes', async () => {
  const { clock, figures, answers, asked } = askedStore();
  const slow = Promise.withResolvers<number>();
  answers(() => slow.promise);
  assert.equal(await figures(), undefined);
  clock.pass(10_000);
  assert.equal(await figures(), undefined);
  assert.equal(asked(), 1, 'two counts at a time');
  slow.resolve(3);
  assert.deepEqual(await figures(), 3);
});
