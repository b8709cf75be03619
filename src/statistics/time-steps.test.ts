import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { localTime, readStepWidth, type StepRequest, spansOf, type TimeStep, timeSteps } from './time-steps.ts';

const berlin = 'Europe/Berlin';

function stepsOf(since: string, until: string, step: string, timeZone = berlin): readonly TimeStep[] {
  const width = readStepWidth(step);
  assert.ok(width !== undefined);
  const steps = timeSteps({ since: Date.parse(since), until: Date.parse(until), width, timeZone });
  assert.ok(!('problem' in steps));
  return steps;
}

const hours = ({ start, end }: TimeStep): number => (end - start) / 3_600_000;
const times = (steps: readonly TimeStep[], timeZone = berlin): readonly string[] =>
  steps.map(({ start }) => localTime(start, timeZone));

test('the day on which the clock goes forward has 23 hours, and the one on which it goes back has 25', () => {
  const spring = stepsOf('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', '1h');
  assert.equal(spring.length, 23);
  assert.deepEqual(times(spring.slice(0, 4)), [
    '2026-03-29T00:00:00.000+01:00',
    '2026-03-29T01:00:00.000+01:00',
    '2026-03-29T03:00:00.000+02:00',
    '2026-03-29T04:00:00.000+02:00',
  ]);
  const autumn = stepsOf('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', '1h');
  assert.equal(autumn.length, 25);
  assert.deepEqual(times(autumn.slice(1, 5)), [
    '2026-10-25T01:00:00.000+02:00',
    '2026-10-25T02:00:00.000+02:00',
    '2026-10-25T02:00:00.000+01:00',
    '2026-10-25T03:00:00.000+01:00',
  ]);
  assert.deepEqual(stepsOf('2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z', '1d').map(hours), [24, 23, 24]);
  assert.deepEqual(stepsOf('2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z', '1d').map(hours), [24, 25, 24]);
  assert.deepEqual(stepsOf('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', '6h').map(hours), [5, 6, 6, 6]);
});

test('steps follow the time zone, also by half hours and where a day begins after midnight', () => {
  assert.deepEqual(times(stepsOf('2026-05-01T20:00:00Z', '2026-05-01T20:30:00Z', '1d', 'Asia/Kolkata'), 'Asia/Kolkata'), [
    '2026-05-02T00:00:00.000+05:30',
  ]);
  assert.deepEqual(times(stepsOf('2026-01-01T10:20:00Z', '2026-01-01T10:40:00Z', '15m', 'UTC'), 'UTC'), [
    '2026-01-01T10:15:00.000Z',
    '2026-01-01T10:30:00.000Z',
  ]);
  // In Cairo the clock goes forward at midnight.
  const cairo = stepsOf('2026-04-23T12:00:00Z', '2026-04-24T12:00:00Z', '1d', 'Africa/Cairo');
  assert.deepEqual([cairo.map(hours), times(cairo, 'Africa/Cairo')[1]], [[24, 23], '2026-04-24T01:00:00.000+03:00']);
});

test('a day is read by its rows of six hours, and at its ends by those of hours and quarters', () => {
  const read = (timeZone: string): readonly (readonly [hours: number, grain: number])[] =>
    spansOf(stepsOf('2026-05-01T20:00:00Z', '2026-05-01T20:30:00Z', '1d', timeZone)).map((span) => [
      hours(span),
      span.grain / 60_000,
    ]);
  assert.deepEqual(read('UTC'), [[24, 360]]);
  assert.deepEqual(read(berlin), [
    [2, 60],
    [18, 360],
    [4, 60],
  ]);
  assert.deepEqual(read('Asia/Kolkata'), [
    [0.5, 15],
    [5, 60],
    [18, 360],
    [0.5, 15],
  ]);
});

test('the spans of a step follow each other from its beginning to its end (property)', () => {
  const day = Date.parse('2026-05-01T00:00:00Z');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 200 }), (from, quarters) => {
      const step = { start: day + from * 900_000, end: day + (from + quarters) * 900_000 };
      const spans = spansOf([step]);
      assert.deepEqual([spans[0]?.start, spans.at(-1)?.end], [step.start, step.end]);
      for (const [index, { start, end, grain }] of spans.entries()) {
        assert.ok(start < end && start % grain === 0 && end % grain === 0);
        assert.ok(index === 0 || spans[index - 1]?.end === start);
      }
    }),
  );
});

test('a step divides a day into quarters of an hour, or is whole days', () => {
  for (const text of ['15m', '30m', '45m', '1h', '2h', '90m', '12h', '24h', '1d', '7d']) assert.ok(readStepWidth(text), text);
  for (const text of ['', '0h', '5m', '25m', '5h', '25h', '1w', '1.5h', '-1h', '367d', 'h', '1H'])
    assert.equal(readStepWidth(text), undefined, text);
});

test('400 steps are the most', () => {
  const asked = (until: number): StepRequest => ({ since: 0, until, width: { minutes: 15 }, timeZone: 'UTC' });
  assert.equal((timeSteps(asked(400 * 900_000)) as readonly TimeStep[]).length, 400);
  assert.ok('problem' in timeSteps(asked(400 * 900_000 + 1)));
  assert.ok('problem' in timeSteps({ ...asked(8.64e15), since: -8.64e15 }), 'at once, for all times');
});

test('steps follow each other without a gap, and cover the time that was asked for', () => {
  const zones = fc.constantFrom(
    'UTC',
    berlin,
    'Asia/Kolkata',
    'Africa/Cairo',
    'Australia/Lord_Howe',
    'America/St_Johns',
    'Pacific/Apia',
  );
  const widths = fc.constantFrom('15m', '45m', '1h', '3h', '12h', '1d', '5d');
  const since = fc.integer({ min: Date.parse('2011-12-01'), max: Date.parse('2030-01-01') });
  fc.assert(
    fc.property(since, fc.integer({ min: 1, max: 86_400_000 }), widths, zones, (from, length, step, timeZone) => {
      const width = readStepWidth(step);
      assert.ok(width !== undefined);
      const steps = timeSteps({ since: from, until: from + length, width, timeZone });
      assert.ok(!('problem' in steps) && steps.length > 0);
      for (const [index, each] of steps.entries()) {
        assert.ok(each.end > each.start && each.start % 900_000 === 0);
        if (index > 0) assert.equal(each.start, steps[index - 1]?.end);
      }
      const [first, last] = [steps[0], steps.at(-1)];
      assert.ok(
        first && last && first.start <= from && first.end > from && last.start < from + length && last.end >= from + length,
      );
    }),
  );
});
