import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerLeft } from '#base/caller-left.ts';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import { takeSlot } from './adapter-node.ts';

function openScope(t: { after(cleanUp: () => void): void }, total = 60_000): CallScope {
  const scope = new CallScope({ total, clock: systemClock });
  t.after(() => scope.end());
  return scope;
}

const isBusy = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'adapter-busy' && error.headers['Retry-After'] === '1';

test('calls above the concurrency wait in order, and calls above the queue are refused', async (t) => {
  const [slots, limits] = [new Semaphore(1), { name: 'x', queue: 2 }];
  assert.equal(takeSlot(slots, limits, openScope(t)), undefined, 'a free slot needs no promise');
  const order: number[] = [];
  const waiting = [1, 2].map(async (place) => {
    await takeSlot(slots, limits, openScope(t));
    order.push(place);
    slots.release();
  });
  assert.throws(() => takeSlot(slots, limits, openScope(t)), isBusy);
  slots.release();
  await Promise.all(waiting);
  assert.deepEqual([order, slots.inFlight, slots.waiting], [[1, 2], 0, 0]);
});

test('a caller that leaves frees its place in the queue', async (t) => {
  const [slots, limits] = [new Semaphore(1), { name: 'x', queue: 1 }];
  await takeSlot(slots, limits, openScope(t));
  const leaving = openScope(t);
  const waiting = takeSlot(slots, limits, leaving);
  leaving.abort(new CallerLeft());
  await assert.rejects(async () => waiting, CallerLeft);
  await assert.rejects(async () => takeSlot(slots, limits, leaving), CallerLeft, 'it has left already');
  const next = takeSlot(slots, limits, openScope(t));
  slots.release();
  await next;
  assert.deepEqual([slots.inFlight, slots.waiting], [1, 0]);
});

test('a call that waits for its whole time limit is refused as busy', async (t) => {
  const [slots, limits] = [new Semaphore(1), { name: 'x', queue: 1 }];
  await takeSlot(slots, limits, openScope(t));
  await assert.rejects(async () => takeSlot(slots, limits, openScope(t, 20)), isBusy);
});
