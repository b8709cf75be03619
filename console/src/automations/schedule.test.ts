import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { cronOf, cronWords, isPaused, scheduleKind, scheduleWords, timesOf } from './schedule.ts';

for (const [cron, words] of [
  ['30 2 * * *', 'every day at 02:30'],
  ['30 2 * * 1-5', 'every weekday at 02:30'],
  ['0 6 * * 1', 'every Monday at 06:00'],
  ['5 18 * * 0,6', 'every Saturday and Sunday at 18:05'],
  ['0 6 * * 1,3,5', 'every Monday, Wednesday and Friday at 06:00'],
  ['0 6 * * 7', 'every Sunday at 06:00'],
  ['15 * * * *', 'every hour at minute 15'],
  ['0 4 1 * *', 'on day 1 of each month at 04:00'],
  ['*/5 * * * *', 'cron */5 * * * *'],
  ['0 4 1 1 *', 'cron 0 4 1 1 *'],
  ['0 4 1 * 1', 'cron 0 4 1 * 1'],
  ['0 4 * * mon', 'cron 0 4 * * mon'],
  ['61 4 * * *', 'cron 61 4 * * *'],
  ['0 4 * * 5-1', 'cron 0 4 * * 5-1'],
] as const) {
  test(`the cron expression ${cron} is "${words}"`, () => assert.equal(cronWords(cron), words));
}

test('times that people choose come back from their cron expression', () => {
  const times = fc.record({
    kind: fc.constantFrom('hour', 'day', 'workdays', 'week', 'month'),
    hour: fc.integer({ min: 0, max: 23 }),
    minute: fc.integer({ min: 0, max: 59 }),
    days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
    day: fc.integer({ min: 1, max: 31 }),
  });
  fc.assert(
    fc.property(times, ({ kind, hour, minute, days, day }) => {
      const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
      const cron = cronOf({ kind, time, days, day });
      assert.equal(cronOf(timesOf(cron)), cron);
    }),
  );
});

test('a schedule is said in words, with its zone', () => {
  assert.equal(scheduleWords({ data: { cron: '30 2 * * *', timeZone: 'Europe/Berlin' } }), 'every day at 02:30, Europe/Berlin');
  assert.equal(scheduleWords({ repeatInterval: '1 hour' }), 'every hour');
  assert.equal(scheduleWords({ repeatInterval: '5 minutes' }), 'every 5 minutes');
  assert.equal(scheduleWords({ nextRunAt: '2026-03-01T22:00:00Z' }), 'once');
  assert.equal(scheduleWords({}), '');
});

test('a schedule without a next time is paused, and an automation without a schedule is not', () => {
  assert.equal(isPaused({ data: { cron: '30 2 * * *' } }), true);
  assert.equal(isPaused({ repeatInterval: '1 day' }), true);
  assert.equal(isPaused({ repeatInterval: '1 day', nextRunAt: '2026-03-01T22:00:00Z' }), false);
  assert.equal(isPaused({}), false);
  assert.equal(scheduleKind({}), 'none');
});
