export interface RepeatInterval {
  readonly count: number;
  readonly unit: (typeof units)[number];
}

const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const;

/** For messages and documentation. */
export const repeatIntervalForm = '5 minutes';

/** A timestamp has four digits of years. */
const maxYears = 9_999;
const approximateSeconds = { second: 1, minute: 60, hour: 3_600, day: 86_400, week: 604_800, month: 2_629_746, year: 31_556_952 };

/**
 * Reads `<count> <unit>`: a decimal count from 1, without sign or leading zeros, one space, and a unit in lower case, singular or
 * plural.
 */
export function parseRepeatInterval(
  text: string,
): ({ readonly kind: 'interval' } & RepeatInterval) | { readonly kind: 'fault'; readonly detail: string } {
  const [, digits = '', plural = ''] = /^([1-9][0-9]*) ([a-z]+)$/u.exec(text) ?? [];
  const unit = units.find((each) => each === plural || `${each}s` === plural);
  if (unit === undefined) return { kind: 'fault', detail: `must be a count and a unit (${units.join(', ')})${suggestion(text)}` };
  const count = Number(digits);
  if (count * approximateSeconds[unit] > maxYears * approximateSeconds.year) {
    return { kind: 'fault', detail: `is over ${maxYears} years; a shorter one is meant, such as "1 ${unit}"` };
  }
  return { kind: 'interval', count, unit };
}

/** Takes the first number of the text, and the unit that begins as one of its words. */
function suggestion(text: string): string {
  const digits = /[0-9]+/u.exec(text)?.[0] ?? '';
  const words =
    text
      .slice(0, 256)
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [];
  const unit = units.find((each) =>
    words.some((word) => word.length >= 3 && (word.startsWith(each.slice(0, 3)) || each.startsWith(word))),
  );
  const count = Number(digits.slice(0, 4));
  if (digits === '' || unit === undefined || count === 0 || digits.length > 4) {
    return `, the count from 1, such as "${unit === undefined ? repeatIntervalForm : `1 ${unit}`}"`;
  }
  if (/-\s*[0-9]/u.test(text)) return `, the count from 1, such as "${written(count, unit)}"`;
  return `, and nothing else, such as "${written(count, unit)}"`;
}

function written(count: number, unit: RepeatInterval['unit']): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/**
 * The first time after `after` in the series from `anchor` by whole intervals; undefined after the year 9999. Days, weeks, months
 * and years are those of the calendar in `timeZone` (default: UTC), counted from the anchor. So 31 January repeats on the last
 * day of February and on 31 March. Shorter units are elapsed time. A local time that the clock leaves out comes as much later as
 * the clock goes forward; of two equal ones the first counts. All are ISO 8601 with milliseconds and `Z`.
 */
export function nextAfter(series: {
  readonly interval: RepeatInterval;
  readonly anchor: string;
  readonly after: string;
  readonly timeZone?: string | undefined;
}): string | undefined {
  const { count, unit } = series.interval;
  const { timeZone = 'UTC' } = series;
  const anchor = Temporal.Instant.from(series.anchor).toZonedDateTimeISO(timeZone);
  const after = Temporal.Instant.from(series.after).toZonedDateTimeISO(timeZone);
  const repetition = (number: number): Temporal.ZonedDateTime => anchor.add({ [`${unit}s`]: number * count });
  const passed = Math.floor(anchor.until(after, { largestUnit: unit })[`${unit}s`] / count);
  // The number of whole units can be one too small: from 31 January to 28 February is no month, and yet a repetition.
  try {
    for (let number = Math.max(0, passed); ; number += 1) {
      const next = repetition(number);
      if (next.withTimeZone('UTC').year > maxYears) return undefined;
      if (Temporal.ZonedDateTime.compare(next, after) > 0) return next.toInstant().toString({ smallestUnit: 'millisecond' });
    }
  } catch (error) {
    // Beyond the range of Temporal, some 270,000 years from now.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
