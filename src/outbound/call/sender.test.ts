import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { CallScope } from './call-scope.ts';
import { createSender } from './sender.ts';

test('a state-changing call that is not on record never leaves the sender', async (t) => {
  let dialled = 0;
  const sender = createSender({
    connect: () => {
      dialled += 1;
      return Promise.reject(new Error('nothing is dialled here'));
    },
  });
  t.after(() => sender.close());
  const scope = new CallScope({ total: 5_000, clock: systemClock });
  t.after(() => scope.end());
  const timeouts = { firstByte: 1_000, idle: 1_000 };
  const call = { origin: 'http://127.0.0.1:1', path: '/', headers: [], timeouts, responseLimit: 1_000 };
  await assert.rejects(sender.send({ ...call, method: 'POST', stateChanging: true }, scope), /not on record/u);
  assert.equal(dialled, 0);
  await assert.rejects(sender.send({ ...call, method: 'GET', stateChanging: false }, scope));
  assert.equal(dialled, 1);
});
