// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultKinds } from './support/faults/fault-plan.ts';
import { callHistory } from './support/histories/call-history.ts';
import { contradictions } from './support/histories/history-checker.ts';
import { givenSeed } from './support/seeded-random.ts';

// The long form, with ten times as many calls: node bench/history.ts 10000

const calls = 1_000;

test(`a history of ${calls} calls over faulty connections has no action twice, and no reply that contradicts it`, async (t) => {
  const seed = givenSeed();
  t.diagnostic(`to repeat these calls and faults: SEED=${seed}`);
  const history = await callHistory(t, { calls, seed, upstreams: 3 });
  t.diagnostic(JSON.stringify(history.tally));
  assert.deepEqual(contradictions(history).slice(0, 20), [], `SEED=${seed}`);
  assert.equal(history.calls.length, calls);
  assert.equal(history.leftOpen, 0, 'sockets stayed open at a proxy');
  // The history proves something only with replies of every kind, and with every fault.
  const replies = (name: string): number =>
    Object.entries(history.tally).reduce((sum, [key, count]) => sum + (key.startsWith(name) ? count : 0), 0);
  assert.ok(replies('acknowledged') > calls / 10, JSON.stringify(history.tally));
  for (const name of [
    'outcome-unknown, applied',
    'outcome-unknown, not applied',
    'left',
    'upstream-connect-failed',
    'upstream-error',
    'adapter-',
  ]) {
    assert.ok(replies(name) > 0, `no caller got ${name}: ${JSON.stringify(history.tally)}`);
  }
  const missed = faultKinds.filter((kind) => history.met[kind] === undefined);
  assert.deepEqual(missed, [], 'no connection met them');
});
