import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { nextAfter, parseRepeatInterval, type RepeatInterval } from './repeat-interval.ts';

for (const [text, count, unit] of [
  ['1 second', 1, 'second'],
  ['5 minutes', 5, 'minute'],
  ['1 hours', 1, 'hour'],
  ['2 day', 2, 'day'],
  ['3 weeks', 3, 'week'],
  ['18 months', 18, 'month'],
  ['9999 years', 9999, 'year'],
] as const) {
  test(`"${text}" is every ${count} ${unit}`, () =>
    assert.deepEqual(parseRepeatInterval(text), { kind: 'interval', count, unit }));
}

for (const [text, shown] of [
  ['every 5 minutes', '"5 minutes"'],
  ['5 mins', '"5 minutes"'],
  ['5 min', '"5 minutes"'],
  ['0 hours', '"1 hour"'],
  ['-2 days', '"2 days"'],
  ['01 day', '"1 day"'],
  ['+1 day', '"1 day"'],
  ['1.5 hours', '"1 hour"'],
  ['1  day', '"1 day"'],
  [' 1 day', '"1 day"'],
  ['1 day ', '"1 day"'],
  ['1 day\n', '"1 day"'],
  ['1 Day', '"1 day"'],
  ['1\u00a0day', '"1 day"'],
  ['daily', '"5 minutes"'],
  ['', '"5 minutes"'],
  ['5', '"5 minutes"'],
  ['minutes', '"1 minute"'],
  ['5 fortnights', '"5 minutes"'],
  ['٥ minutes', '"1 minute"'],
  ['10000 years', '"1 year"'],
  ['999999999999999999999999 seconds', '"1 second"'],
  ['P1D', '"5 minutes"'],
  ['1 day 2 hours', '"1 hour"'],
] as const) {
  test(`${JSON.stringify(text)} is refused, and ${shown} is shown`, () => {
    const read = parseRepeatInterval(text);
    assert.ok(read.kind === 'fault');
    assert.ok(read.detail.includes(shown), read.detail);
    const right = /"([^"]*)"/u.exec(read.detail)?.[1] ?? '';
    assert.equal(parseRepeatInterval(right).kind, 'interval');
  });
}

const unit = fc.constantFrom<RepeatInterval['unit']>('second', 'minute', 'hour', 'day', 'week', 'month', 'year');
const moment = (from: string, to: string): fc.Arbitrary<string> =>
  fc.date({ min: new Date(from), max: new Date(to), noInvalidDate: true }).map((date) => date.toISOString());
// Often enough on the last days of a month and of a leap February.
const anchors = fc.oneof(
  moment('1970-01-01T00:00:00Z', '2200-01-01T00:00:00Z'),
  fc.constantFrom('2024-02-29T00:00:00.000Z', '2025-12-31T23:59:59.999Z', '2026-01-31T12:00:00.000Z', '2026-01-30T00:00:00.000Z'),
);

/** `anchor` + `number` intervals. */
function repetition(anchor: string, { count, unit: each }: RepeatInterval, number: number): string {
  return Temporal.Instant.from(anchor)
    .toZonedDateTimeISO('UTC')
    .add({ [`${each}s`]: count * number })
    .toInstant()
    .toString({ smallestUnit: 'millisecond' });
}

test('the next repetition is the first one after the moment, for any anchor, interval and moment', () => {
  fc.assert(
    fc.property(
      anchors,
      unit,
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 0, max: 40 }),
      fc.constantFrom(-1, 0, 1),
      (anchor, each, count, number, milliseconds) => {
        const interval = { count, unit: each };
        const exact = repetition(anchor, interval, number);
        fc.pre(!exact.startsWith('+'));
        const after = new Date(Date.parse(exact) + milliseconds).toISOString();
        const expected = Array.from({ length: number + 2 }, (_, index) => repetition(anchor, interval, index)).find(
          (text) => Date.parse(text) > Date.parse(after),
        );
        assert.equal(nextAfter({ interval, anchor, after }), expected?.startsWith('+') === true ? undefined : expected);
      },
    ),
    { numRuns: 500 },
  );
});

test('units up to a week have their exact length, however long ago the anchor is', () => {
  const lengths = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;
  fc.assert(
    fc.property(
      moment('1970-01-01T00:00:00Z', '2000-01-01T00:00:00Z'),
      moment('2000-01-02T00:00:00Z', '2100-01-01T00:00:00Z'),
      fc.constantFrom('second', 'minute', 'hour', 'day', 'week'),
      fc.integer({ min: 1, max: 100_000 }),
      (anchor, after, each, count) => {
        const next = nextAfter({ interval: { count, unit: each }, anchor, after });
        const step = lengths[each] * count;
        const passed = Math.floor((Date.parse(after) - Date.parse(anchor)) / step);
        assert.equal(next, new Date(Date.parse(anchor) + (passed + 1) * step).toISOString());
      },
    ),
  );
});

for (const [anchor, text, after, next] of [
  ['2026-01-31T12:00:00.000Z', '1 month', '2026-01-31T12:00:00.000Z', '2026-02-28T12:00:00.000Z'],
  ['2026-01-31T12:00:00.000Z', '1 month', '2026-02-28T12:00:00.000Z', '2026-03-31T12:00:00.000Z'],
  ['2026-01-31T12:00:00.000Z', '1 month', '2026-02-28T11:59:59.999Z', '2026-02-28T12:00:00.000Z'],
  ['2024-01-31T00:00:00.000Z', '1 month', '2024-02-01T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
  ['2024-02-29T00:00:00.000Z', '1 year', '2025-01-01T00:00:00.000Z', '2025-02-28T00:00:00.000Z'],
  ['2024-02-29T00:00:00.000Z', '1 year', '2027-12-31T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
  ['2025-12-31T23:59:59.999Z', '1 second', '2025-12-31T23:59:59.999Z', '2026-01-01T00:00:00.999Z'],
  ['2026-05-01T00:00:00.000Z', '1 day', '2020-01-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z'],
  ['2026-05-01T00:00:00.000Z', '1 day', '2026-05-01T00:00:00.000Z', '2026-05-02T00:00:00.000Z'],
] as const) {
  test(`every ${text} from ${anchor}: after ${after} comes ${next}`, () => {
    const interval = parseRepeatInterval(text);
    assert.ok(interval.kind === 'interval');
    assert.equal(nextAfter({ interval, anchor, after }), next);
  });
}

test('nothing comes after the year 9999', () => {
  const anchor = '2026-01-01T00:00:00.000Z';
  assert.equal(nextAfter({ interval: { count: 9999, unit: 'year' }, anchor, after: anchor }), undefined);
  assert.equal(nextAfter({ interval: { count: 1, unit: 'day' }, anchor, after: '9999-12-31T12:00:00.000Z' }), undefined);
});
