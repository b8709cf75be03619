import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerLeft } from '#base/caller-left.ts';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope } from '#outbound/call-scope.ts';
import { createSlots } from './slots.ts';

function openScope(t: { after(cleanUp: () => void): void }, total = 60_000): CallScope {
  const scope = new CallScope({ total, clock: systemClock });
  t.after(() => scope.end());
  return scope;
}

const isBusy = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'adapter-busy' && error.headers['Retry-After'] === '1';

test('calls above the concurrency wait in order, and calls above the queue are refused', async (t) => {
  const slots = createSlots({ name: 'x', concurrency: 1, queue: 2 });
  const release = await slots.take(openScope(t));
  const order: number[] = [];
  const waiting = [1, 2].map(async (place) => {
    const next = await slots.take(openScope(t));
    order.push(place);
    next();
  });
  assert.throws(() => slots.take(openScope(t)), isBusy);
  release();
  release();
  await Promise.all(waiting);
  assert.deepEqual(order, [1, 2]);
  // A second release of the same slot has no effect.
  assert.equal(slots.inFlight, 0);
});

test('a caller that leaves frees its place in the queue', async (t) => {
  const slots = createSlots({ name: 'x', concurrency: 1, queue: 1 });
  const release = await slots.take(openScope(t));
  const leaving = openScope(t);
  const waiting = slots.take(leaving);
  leaving.abort(new CallerLeft());
  await assert.rejects(async () => waiting, CallerLeft);
  const next = slots.take(openScope(t));
  release();
  (await next)();
});

test('a call that waits for its whole time limit is refused as busy', async (t) => {
  const slots = createSlots({ name: 'x', concurrency: 1, queue: 1 });
  await slots.take(openScope(t));
  await assert.rejects(async () => slots.take(openScope(t, 20)), isBusy);
});
