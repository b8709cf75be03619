import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './semaphore.ts';

test('a semaphore of two lets two run at a time, the others in order, and passes each permit on', async () => {
  const semaphore = new Semaphore(2);
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
  const ended = await Promise.allSettled([1, 2, 3, 4, 5].map((number) => semaphore.run(() => work(number))));
  assert.deepEqual(
    ended.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual([order, most, semaphore.inFlight, semaphore.waiting], [[1, 2, 3, 4, 5], 2, 0, 0]);
});

test('a caller that waited too long gets the error, and the permit goes to the next caller', async () => {
  const semaphore = new Semaphore(1);
  await semaphore.acquire();
  const impatient = semaphore.acquire({ limit: 1, late: () => new Error('late') });
  const patient = semaphore.acquire();
  assert.equal(semaphore.waiting, 2);
  await assert.rejects(impatient, /late/u);
  assert.equal(semaphore.waiting, 1);
  semaphore.release();
  await patient;
  semaphore.release();
  assert.equal(semaphore.inFlight, 0);
});

test('callers of several groups take turns: the only one of its group waits for one of each other group at most', async () => {
  const semaphore = new Semaphore(1);
  await semaphore.acquire();
  const order: string[] = [];
  const wait = async (name: string, group: string): Promise<void> => {
    await semaphore.acquire({ group });
    order.push(name);
  };
  const waits = [wait('a1', 'a'), wait('a2', 'a'), wait('a3', 'a'), wait('b1', 'b'), wait('c1', 'c'), wait('b2', 'b')];
  const late = semaphore.acquire({ group: 'd', limit: 1, late: () => new Error('late') });
  assert.equal(semaphore.waiting, 7);
  await assert.rejects(late, /late/u);
  for (const _ of waits) {
    semaphore.release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(waits);
  assert.deepEqual([order, semaphore.waiting], [['a1', 'b1', 'c1', 'a2', 'b2', 'a3'], 0]);
});
