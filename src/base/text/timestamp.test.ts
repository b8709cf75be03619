import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readTimestamp } from './timestamp.ts';

const date = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9998-12-31T00:00:00Z'), noInvalidDate: true });

test('a timestamp in UTC stays as it is', () => {
  fc.assert(fc.property(date, (moment) => assert.equal(readTimestamp(moment.toISOString()), moment.toISOString())));
});

test('one moment gives the same text for every offset', () => {
  const offset = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 });
  fc.assert(
    fc.property(date, offset, fc.boolean(), (moment, minutes, lower) => {
      const local = new Date(moment.getTime() + minutes * 60_000).toISOString().slice(0, -1);
      const two = (number: number): string => String(Math.abs(number)).padStart(2, '0');
      const written = `${local}${minutes < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}:${two(minutes % 60)}`;
      assert.equal(readTimestamp(lower ? written.toLowerCase() : written), moment.toISOString());
    }),
  );
});

for (const [text, kept] of [
  ['2026-03-01T22:00:00Z', '2026-03-01T22:00:00.000Z'],
  ['2026-03-01t22:00:00.5z', '2026-03-01T22:00:00.500Z'],
  ['2026-03-01T22:00:00.999999999999Z', '2026-03-01T22:00:00.999Z'],
  ['2026-03-01T00:00:00-00:00', '2026-03-01T00:00:00.000Z'],
  ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000Z'],
  ['2024-02-29T12:00:00+23:59', '2024-02-28T12:01:00.000Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
] as const) {
  test(`${text} is kept as ${kept}`, () => assert.equal(readTimestamp(text), kept));
}

for (const text of [
  '',
  'tomorrow',
  '2026-03-01',
  '2026-03-01T22:00:00',
  '2026-03-01 22:00:00Z',
  '2026-03-01T22:00Z',
  '2026-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-03-01T24:00:00Z',
  '2026-03-01T22:60:00Z',
  '2026-03-01T22:00:61Z',
  '2026-03-01T22:00:00+24:00',
  '2026-03-01T22:00:00+1:00',
  '2026-03-01T22:00:00+01:60',
  '2026-03-01T22:00:00.Z',
  '2026-03-01T22:00:00,5Z',
  '+002026-03-01T22:00:00Z',
  '-000001-03-01T22:00:00Z',
  '0000-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '2026-03-01T22:00:00Z[UTC]',
  ' 2026-03-01T22:00:00Z',
  '2026-03-01T22:00:00Z\n',
  '２０２６-03-01T22:00:00Z',
]) {
  test(`${JSON.stringify(text)} is no timestamp`, () => assert.equal(readTimestamp(text), undefined));
}
