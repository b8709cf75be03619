import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromLocalInput, localInput, rangeOf, stepOf } from './time-range.ts';

const now = Date.parse('2026-03-10T12:34:56.789Z');
const range = (query: string, byDefault: Parameters<typeof rangeOf>[1] = '') =>
  rangeOf(new URLSearchParams(query), byDefault, now);

test('a named range begins at a whole minute, so that two questions of one minute are the same', () => {
  assert.deepEqual(range('range=24h'), { title: 'Last 24 hours', since: '2026-03-09T12:34:00.000Z' });
  assert.equal(range('', '7d').since, '2026-03-03T12:34:00.000Z');
});

test('a range of days begins at midnight of the reader', () => {
  const { since = '', until = '' } = range('range=yesterday');
  assert.equal(new Date(since).getHours(), 0);
  assert.equal(new Date(until).getHours(), 0);
  assert.ok(Date.parse(until) <= now && Date.parse(until) - Date.parse(since) >= 23 * 3_600_000);
});

test('two times of the address come before a name', () => {
  const { since, until } = range('range=24h&since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z');
  assert.deepEqual([since, until], ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z']);
});

test('an address without a range, or with an unknown one, is about all of time', () => {
  assert.deepEqual(range(''), { title: 'Any time' });
  assert.deepEqual(range('range=constructor'), { title: 'Any time' });
});

test('statistics have a step that gives some tens of bars', () => {
  for (const [query, step, bars] of [
    ['range=1h', '15m', 5],
    ['range=24h', '1h', 25],
    ['range=7d', '6h', 29],
    ['range=30d', '1d', 31],
  ] as const) {
    const { since = '' } = range(query);
    const chosen = stepOf(range(query), now);
    const minutes = { '15m': 15, '1h': 60, '6h': 360, '1d': 1440 }[chosen] ?? 0;
    assert.equal(chosen, step);
    assert.ok((now - Date.parse(since)) / 60_000 / minutes <= bars, query);
  }
});

test('a time goes into an input of the browser and comes back', () => {
  assert.equal(fromLocalInput(localInput('2026-03-01T22:00:00.000Z')), '2026-03-01T22:00:00.000Z');
  assert.equal(fromLocalInput(''), '');
});
