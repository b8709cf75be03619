import { Cron } from 'croner';

/** A right form, for messages and documentation. */
export const cronForm = '30 2 * * 1-5';

/** Characters of an expression; a longer one lists values that a range can name. */
const longest = 256;
const names = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)$/iu;

/**
 * What is wrong with a cron expression, and a right form; undefined: it is right. It has five fields: minute, hour, day of month, month,
 * day of week. A field has numbers, names, `*`, lists, ranges and steps.
 */
export function cronFault(text: string): string | undefined {
  const advice = `write five fields (minute, hour, day of month, month, day of week), such as "${cronForm}"`;
  const fields = text.trim().split(/ +/u);
  if (fields.length !== 5 || text.length > longest) return `must have five fields with spaces between them; ${advice}`;
  const odd = fields.find((field) => !/^[\dA-Za-z*,/-]+$/u.test(field) || !hasKnownNames(field));
  if (odd !== undefined) return `has a field with other signs than digits, names, * , - and /: ${JSON.stringify(odd)}; ${advice}`;
  try {
    if (cronOf(text, 'UTC').nextRun(new Date(0)) === null)
      return 'never comes: no month has such a day; correct the day or the month';
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /u, '') : 'it cannot be read';
    return `is no cron expression (${reason}); ${advice}`;
  }
}

function hasKnownNames(field: string): boolean {
  return field.split(/[^A-Za-z]+/u).every((word) => word === '' || names.test(word));
}

/**
 * The first time after `after` (milliseconds since the epoch) in the time zone; undefined where there is none. With fixed hours and
 * minutes each local time comes once a day: the first one of two counts. One that the clock leaves out comes as
 * soon as the clock has gone forward. With `*` or a step among them the expression follows elapsed time through a doubled hour.
 */
export function nextOfCron(cron: { readonly text: string; readonly timeZone: string }, after: number): number | undefined {
  return cronOf(cron.text, cron.timeZone).nextRun(new Date(after))?.getTime();
}

function cronOf(text: string, timezone: string): Cron {
  return new Cron(text.trim(), { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard' });
}
