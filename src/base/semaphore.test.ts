import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './semaphore.ts';

test('so many go at a time, the others in the order they came, and each turn is given on', async () => {
  const turns = new Semaphore(2);
  const order: number[] = [];
  let [running, most] = [0, 0];
  const work = async (number: number): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    order.push(number);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (number === 2) throw new Error('it failed');
  };
  const over = await Promise.allSettled([1, 2, 3, 4, 5].map((number) => turns.run(() => work(number))));
  assert.deepEqual(
    over.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual([order, most, turns.free, turns.waiting], [[1, 2, 3, 4, 5], 2, 2, 0]);
});

test('who waited for too long is told so, and the turn goes to the next', async () => {
  const turns = new Semaphore(1);
  await turns.acquire();
  const impatient = turns.acquire({ limit: 1, late: () => new Error('late') });
  const patient = turns.acquire();
  assert.equal(turns.waiting, 2);
  await assert.rejects(impatient, /late/u);
  assert.equal(turns.waiting, 1);
  turns.release();
  await patient;
  turns.release();
  assert.equal(turns.free, 1);
});
