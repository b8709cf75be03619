import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isTimeZone } from '#base/text/timestamp.ts';
import { parseRepeatInterval } from './repeat-interval.ts';
import { cronFault, latestDue, nextDue, type Schedule, scheduleOf, timeZoneFault } from './schedule.ts';

const cron = (text: string, timeZone = 'UTC'): Schedule => ({ kind: 'cron', text, timeZone });

function every(text: string, anchor: string, timeZone = 'UTC'): Schedule {
  const interval = parseRepeatInterval(text);
  assert.ok(interval.kind === 'interval');
  return { kind: 'interval', interval, anchor: Date.parse(anchor), timeZone };
}

/** The next moments after `after`, without their seconds. */
function series(schedule: Schedule, after: string, count: number): readonly string[] {
  const found: string[] = [];
  let last = Date.parse(after);
  for (let index = 0; index < count; index += 1) {
    const next = nextDue(schedule, last);
    assert.ok(next !== undefined && next > last);
    found.push(new Date(next).toISOString().slice(0, 16));
    last = next;
  }
  return found;
}

const cases: readonly (readonly [name: string, schedule: Schedule, after: string, expected: readonly string[]])[] = [
  [
    'a cron time in the missing hour of Berlin comes as soon as the clock has gone forward',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-03-28T00:00Z',
    ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'a cron time in the doubled hour of Berlin comes once',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-10-24T12:00Z',
    ['2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  [
    'cron times of a list of hours come once each in the doubled hour of Berlin',
    cron('30 1,2,3 * * *', 'Europe/Berlin'),
    '2026-10-24T12:00Z',
    ['2026-10-24T23:30', '2026-10-25T00:30', '2026-10-25T02:30', '2026-10-26T00:30'],
  ],
  [
    'a cron expression with a step follows elapsed time through the doubled hour of Berlin',
    cron('*/30 * * * *', 'Europe/Berlin'),
    '2026-10-25T00:00Z',
    ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
  ],
  [
    'a cron time in the missing hour of New York comes as soon as the clock has gone forward',
    cron('30 2 * * *', 'America/New_York'),
    '2026-03-07T12:00Z',
    ['2026-03-08T07:00', '2026-03-09T06:30'],
  ],
  [
    'a cron time in the doubled hour of New York comes once',
    cron('30 1 * * *', 'America/New_York'),
    '2026-10-31T12:00Z',
    ['2026-11-01T05:30', '2026-11-02T06:30'],
  ],
  [
    'a cron time in the missing half hour of Lord Howe comes as soon as the clock has gone forward',
    cron('15 2 * * *', 'Australia/Lord_Howe'),
    '2026-10-02T16:00Z',
    ['2026-10-03T15:30', '2026-10-04T15:15'],
  ],
  [
    'a cron time in the doubled half hour of Lord Howe comes once',
    cron('45 1 * * *', 'Australia/Lord_Howe'),
    '2026-04-03T16:00Z',
    ['2026-04-04T14:45', '2026-04-05T15:15'],
  ],
  [
    'a cron expression with days of the month and of the week means either',
    cron('0 12 1 * MON'),
    '2026-05-25T13:00Z',
    ['2026-06-01T12:00', '2026-06-08T12:00'],
  ],
  [
    'a day of the calendar keeps its local time over both changes of the clock in Berlin',
    every('1 day', '2026-03-28T06:00Z', 'Europe/Berlin'),
    '2026-03-28T06:00Z',
    ['2026-03-29T05:00', '2026-03-30T05:00'],
  ],
  [
    'a day of the calendar in the missing hour of Berlin is an hour late, and the next one is not',
    every('1 day', '2026-03-28T01:30Z', 'Europe/Berlin'),
    '2026-03-28T01:30Z',
    ['2026-03-29T01:30', '2026-03-30T00:30'],
  ],
  [
    'a day of the calendar in the doubled hour of New York comes once',
    every('1 day', '2026-10-31T05:30Z', 'America/New_York'),
    '2026-10-31T05:30Z',
    ['2026-11-01T05:30', '2026-11-02T06:30'],
  ],
  [
    'a week of the calendar keeps its local time on Lord Howe, whose clock changes by half an hour',
    every('1 week', '2026-03-28T16:00Z', 'Australia/Lord_Howe'),
    '2026-03-28T16:00Z',
    ['2026-04-04T16:30', '2026-04-11T16:30'],
  ],
  [
    'hours are elapsed time in the doubled hour of Berlin',
    every('1 hour', '2026-10-24T23:30Z', 'Europe/Berlin'),
    '2026-10-24T23:30Z',
    ['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-25T02:30'],
  ],
  [
    'a month from 31 January comes on 28 February, then on 31 March',
    every('1 month', '2026-01-31T12:00Z'),
    '2026-01-01T00:00Z',
    ['2026-01-31T12:00', '2026-02-28T12:00', '2026-03-31T12:00', '2026-04-30T12:00'],
  ],
  [
    'a month from 31 January is a month of the time zone',
    every('1 month', '2026-01-30T23:30Z', 'Europe/Berlin'),
    '2026-01-30T23:30Z',
    ['2026-02-27T23:30', '2026-03-30T22:30'],
  ],
];
for (const [name, schedule, after, expected] of cases) {
  test(name, () => assert.deepEqual(series(schedule, after, expected.length), expected));
}

const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia');
const moments = fc
  .date({ min: new Date('2024-01-01T00:00:00Z'), max: new Date('2028-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.getTime());
const intervals = fc.record({
  kind: fc.constant('interval' as const),
  interval: fc.record({
    count: fc.integer({ min: 1, max: 100 }),
    unit: fc.constantFrom(
      'second' as const,
      'minute' as const,
      'hour' as const,
      'day' as const,
      'week' as const,
      'month' as const,
    ),
  }),
  anchor: moments,
  timeZone: zones,
});
const crons = fc.record({
  kind: fc.constant('cron' as const),
  text: fc.constantFrom(
    '30 2 * * *',
    '*/7 * * * *',
    '0 1-3 * * *',
    '15,45 1,2 * * 0',
    '0 0 31 * *',
    '59 23 * 2 MON-FRI',
    '10 */5 1 * 1',
  ),
  timeZone: zones,
});
const schedules: fc.Arbitrary<Schedule> = fc.oneof(intervals, crons);

test('a series increases, begins at its anchor, and is the same from wherever one asks', () => {
  fc.assert(
    fc.property(schedules, moments, fc.integer({ min: 0, max: 1_000_000 }), (schedule, after, part) => {
      const next = nextDue(schedule, after);
      assert.ok(next !== undefined && next > after);
      if (schedule.kind === 'interval') assert.ok(next >= schedule.anchor);
      // From any moment in between the same one comes next.
      const between = after + Math.floor(((next - 1 - after) * part) / 1_000_000);
      assert.equal(nextDue(schedule, between), next);
      assert.equal(nextDue(schedule, next - 1), next);
    }),
    { numRuns: 1_000 },
  );
});

test('the latest moment of a series is due, and the one after it is not', () => {
  fc.assert(
    fc.property(schedules, moments, fc.integer({ min: 0, max: 40_000_000_000 }), (schedule, after, passed) => {
      const from = nextDue(schedule, after) ?? 0;
      const now = from + passed;
      const latest = latestDue(schedule, { from, now });
      assert.ok(from <= latest && latest <= now);
      assert.equal(nextDue(schedule, latest - 1), latest);
      assert.ok((nextDue(schedule, latest) ?? Infinity) > now);
    }),
    { numRuns: 300 },
  );
});

test('a due time outside the series counts until the series has a later one', () => {
  const schedule = every('1 day', '2026-01-01T00:00Z');
  const from = Date.parse('2026-01-01T12:00Z');
  assert.equal(latestDue(schedule, { from, now: from + 3_600_000 }), from);
  assert.equal(latestDue(schedule, { from, now: from + 86_400_000 }), Date.parse('2026-01-02T00:00Z'));
});

test('an automation counts from its anchor, then from what its owner wrote, and without either it has no series', () => {
  const automation = { _id: 'a', name: 'a', repeatInterval: '1 month' };
  const scheduleFrom = '2026-01-31T00:00:00.000Z';
  const written = '2026-02-28T00:00:00.000Z';
  const anchorOf = (schedule: Schedule | undefined): unknown => schedule?.kind === 'interval' && schedule.anchor;
  assert.equal(anchorOf(scheduleOf({ ...automation, data: { scheduleFrom } }, written)), Date.parse(scheduleFrom));
  assert.equal(anchorOf(scheduleOf(automation, written)), Date.parse(written));
  assert.equal(scheduleOf(automation, undefined), undefined);
  assert.equal(scheduleOf({ _id: 'a', name: 'a' }, written), undefined);
});

for (const text of ['30 2 * * 1-5', '*/5 * * * *', '0 0 29 2 *', '0-30/10 8,20 1 JAN,jul MON-fri', ' 0  0 * * 7']) {
  test(`${JSON.stringify(text)} is a cron expression`, () => assert.equal(cronFault(text), undefined));
}
for (const [text, part] of [
  ['', 'five fields'],
  ['* * * *', 'five fields'],
  ['* * * * * *', 'five fields'],
  ['@daily', 'five fields'],
  ['61 * * * *', '61'],
  ['0 0 * * 9', '9'],
  ['0 22 * * 5-1', '5-1'],
  ['5/15 * * * *', '5/15'],
  ['*/0 * * * *', 'no cron expression'],
  ['0 0 * 13 *', '13 is no month, which is 1 to 12'],
  ['0 0 0 * *', '0 is no day of month, which is 1 to 31'],
  ['0 0 1,32 * *', '32 is no day of month'],
  ['60 * * * *', '60 is no minute, which is 0 to 59'],
  ['0 24 * * *', '24 is no hour'],
  ['0 0 * * 8', '8 is no day of week, which is 0 to 7'],
  ['0 0 L * *', '"L"'],
  ['0 0 * * 1#2', '"1#2"'],
  ['0 0 ? * *', '"?"'],
  ['every day at two o', 'five fields'],
  ['a b c d e', '"a"'],
  ['0 0 30 2 *', 'never comes'],
  [`${'1,'.repeat(200)}1 * * * *`, 'five fields'],
] as const) {
  test(`${JSON.stringify(text).slice(0, 40)} is refused as a cron expression, with the reason`, () => {
    const fault = cronFault(text) ?? '';
    assert.ok(fault.includes(part), fault);
    const shown = /such as "([^"]*)"$/u.exec(fault)?.[1];
    if (shown !== undefined) assert.equal(cronFault(shown), undefined);
  });
}

test('a name of the IANA database is a time zone, and an offset is none', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'europe/berlin', 'Asia/Calcutta', 'US/Eastern']) assert.ok(isTimeZone(zone), zone);
  for (const zone of ['', '+02:00', '-05', 'Berlin', 'Mars/Olympus', 'Europe/Berlin ']) assert.ok(!isTimeZone(zone), zone);
});

test('a wrong time zone is refused with the zone of the city that is meant, or an example', () => {
  assert.equal(timeZoneFault('UTC'), undefined);
  assert.match(timeZoneFault('New York') ?? '', /"America\/New_York"/u);
  assert.match(timeZoneFault('+02:00') ?? '', /"Europe\/Berlin"/u);
});
