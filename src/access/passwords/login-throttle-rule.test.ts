import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  addFailure,
  type FailureRecord,
  forgetAt,
  noFailures,
  takeBack,
  throttleWindow,
  waitFor,
} from './login-throttle-rule.ts';

const start = 1_800_000_000_000;
const minute = 60_000;

/** Fails `times` times, each time as soon as the next attempt is admitted. Returns the imposed waits in seconds. */
function failAtOnce(times: number, free: number): readonly number[] {
  let record = noFailures;
  let now = start;
  const waits: number[] = [];
  for (let count = 0; count < times; count += 1) {
    record = addFailure(record, now, free);
    const wait = waitFor(record, now);
    waits.push(wait / 1000);
    now += wait;
  }
  return waits;
}

test('five failures are free, then waits double from one second to 15 minutes', () => {
  assert.deepEqual(failAtOnce(17, 5), [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
});

test('failures that are 15 minutes apart never impose a wait', () => {
  let record = noFailures;
  for (let count = 0; count < 50; count += 1) {
    record = addFailure(record, start + count * (throttleWindow / 4), 5);
    assert.equal(waitFor(record, start + count * (throttleWindow / 4)), 0);
  }
});

test('the count starts again after 15 minutes without failures since the last wait', () => {
  let record: FailureRecord = { failures: [start], waits: 8, blockedUntil: start + 128_000 };
  const soon = addFailure(record, start + 128_000 + 14 * minute, 5);
  assert.equal(waitFor(soon, start + 128_000 + 14 * minute), 256_000);
  record = addFailure(record, start + 128_000 + 15 * minute, 5);
  assert.equal(waitFor(record, start + 128_000 + 15 * minute), 0);
});

test('a clock that is set back imposes at most the longest wait, and its failures no longer count', () => {
  let record = noFailures;
  for (let count = 0; count < 30; count += 1) record = addFailure(record, start, 5);
  assert.equal(waitFor(record, start), throttleWindow);
  assert.equal(waitFor(record, start - 10 * minute), throttleWindow);
  const day = 24 * 60 * minute;
  assert.equal(waitFor(record, start - day), 0);
  assert.equal(waitFor(addFailure(record, start - day, 5), start - day), 0);
});

test('removing a failure removes the wait that it imposed, and no other', () => {
  let record = noFailures;
  for (let count = 0; count < 4; count += 1) record = addFailure(record, start + count, 5);
  const blocked = addFailure(record, start + 4, 5);
  assert.deepEqual(takeBack(blocked, blocked, start + 4), record);
  const later = addFailure(blocked, start + 5_000, 5);
  assert.equal(waitFor(takeBack(later, blocked, start + 4), start + 5_000), 2_000);
  const both = takeBack(later, later, start + 5_000);
  assert.equal(waitFor(both, start + 5_000), 0);
  assert.equal(waitFor(addFailure(both, start + 6_000, 5), start + 6_000), 2_000);
});

test('no sequence has more than five free failures in 15 minutes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 * minute }), { maxLength: 60 }), (gaps) => {
      let record = noFailures;
      let now = start;
      const free: number[] = [];
      for (const gap of gaps) {
        now += gap;
        if (waitFor(record, now) > 0) continue;
        record = addFailure(record, now, 5);
        if (waitFor(record, now) === 0) free.push(now);
        assert.ok(free.filter((at) => at > now - throttleWindow).length <= 4, 'the fifth imposes the first wait');
        assert.ok(waitFor(record, now) <= throttleWindow && record.failures.length <= 5);
        assert.ok(forgetAt(record) >= now + throttleWindow);
      }
    }),
  );
});
