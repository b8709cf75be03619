import { Cron } from 'croner';

/** For messages and documentation. */
export const cronForm = '30 2 * * 1-5';

/** Characters; a longer expression lists values that a range can name. */
const longest = 256;
const names = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)$/iu;

/**
 * Undefined: the text is right, with five fields (minute, hour, day of month, month, day of week) of numbers, names, `*`, lists,
 * ranges and steps.
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
    return `is no cron expression (${error instanceof Error ? inWords(error.message) : 'it cannot be read'}); ${advice}`;
  }
}

/** By croner's names. It counts days and months from 0 in its messages. */
const fieldsOfCroner: Readonly<Record<string, { readonly field: string; readonly from: number; readonly to: number }>> = {
  minute: { field: 'minute', from: 0, to: 59 },
  hour: { field: 'hour', from: 0, to: 23 },
  day: { field: 'day of month', from: 1, to: 31 },
  month: { field: 'month', from: 1, to: 12 },
  dayOfWeek: { field: 'day of week', from: 0, to: 7 },
};

function inWords(message: string): string {
  const [, name = '', value = ''] = /^CronPattern: Invalid value for (\w+): (-?\d+)$/u.exec(message) ?? [];
  const known = fieldsOfCroner[name];
  if (known === undefined) return message.replace(/^CronPattern: /u, '');
  return `${Number(value) + known.from} is no ${known.field}, which is ${known.from} to ${known.to}`;
}

function hasKnownNames(field: string): boolean {
  return field.split(/[^A-Za-z]+/u).every((word) => word === '' || names.test(word));
}

/**
 * The first time after `after` (milliseconds since the epoch). With fixed hours and minutes each local time comes once a day: the
 * first one of two counts. One that the clock leaves out comes as soon as the clock has gone forward. With `*` or a step among
 * them the expression follows elapsed time through a doubled hour.
 */
export function nextOfCron(cron: { readonly text: string; readonly timeZone: string }, after: number): number | undefined {
  return cronOf(cron.text, cron.timeZone).nextRun(new Date(after))?.getTime();
}

function cronOf(text: string, timezone: string): Cron {
  return new Cron(text.trim(), { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard' });
}
