import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultKinds } from './support/faults/fault-plan.ts';
import { callHistory } from './support/histories/call-history.ts';
import { contradictions } from './support/histories/history-checker.ts';
import { givenSeed } from './support/seeded-random.ts';

// The full form, ten times as many calls: node bench/history.ts 10000

const calls = 1_000;

test(`of ${calls} calls over faulty connections none is done twice, and every caller is told the truth`, async (t) => {
  const seed = givenSeed();
  t.diagnostic(`to plan these calls and faults again: SEED=${seed}`);
  const history = await callHistory(t, { calls, seed, farSides: 3 });
  t.diagnostic(JSON.stringify(history.tally));
  assert.deepEqual(contradictions(history).slice(0, 20), [], `SEED=${seed}`);
  assert.equal(history.calls.length, calls);
  assert.equal(history.leftOpen, 0, 'sockets stayed open at a proxy');
  // A history in which nothing went wrong, or nothing went well, would prove nothing.
  const told = (name: string): number =>
    Object.entries(history.tally).reduce((sum, [key, count]) => sum + (key.startsWith(name) ? count : 0), 0);
  assert.ok(told('acknowledged') > calls / 10, JSON.stringify(history.tally));
  for (const name of [
    'outcome-unknown, applied',
    'outcome-unknown, not applied',
    'left',
    'upstream-connect-failed',
    'upstream-error',
    'adapter-',
  ]) {
    assert.ok(told(name) > 0, `nobody was told ${name}: ${JSON.stringify(history.tally)}`);
  }
  const missed = faultKinds.filter((kind) => history.met[kind] === undefined);
  assert.deepEqual(missed, [], 'no connection met them');
});
