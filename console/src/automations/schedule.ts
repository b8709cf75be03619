import type { Automation } from '#client/gateway.ts';

/** When an automation runs, as the form has it. */
export type ScheduleKind = 'none' | 'times' | 'every' | 'once';

/** Times of a day or a week in words that people use; `own`: a cron expression that is none of them. */
export type TimesKind = 'hour' | 'day' | 'workdays' | 'week' | 'month' | 'own';

export interface Times {
  readonly kind: TimesKind;
  /** `02:30`; of `hour` only the minute counts. */
  readonly time: string;
  /** Of `week`: 0 is Sunday. */
  readonly days: readonly number[];
  /** Of `month`. */
  readonly day: number;
}

export const units = ['minute', 'hour', 'day', 'week', 'month', 'year', 'second'] as const;
export const weekdays = [
  [1, 'Monday'],
  [2, 'Tuesday'],
  [3, 'Wednesday'],
  [4, 'Thursday'],
  [5, 'Friday'],
  [6, 'Saturday'],
  [0, 'Sunday'],
] as const;

type Scheduled = Pick<Automation, 'data' | 'nextRunAt' | 'repeatInterval'>;

export function scheduleKind({ data, nextRunAt, repeatInterval }: Scheduled): ScheduleKind {
  if (data?.cron !== undefined) return 'times';
  if (repeatInterval !== undefined) return 'every';
  return nextRunAt === undefined ? 'none' : 'once';
}

/** A schedule that repeats, and has no next time: a person paused it. */
export function isPaused(automation: Scheduled): boolean {
  const kind = scheduleKind(automation);
  return (kind === 'times' || kind === 'every') && automation.nextRunAt === undefined;
}

/** `every weekday at 02:30, Europe/Berlin`, `every 5 minutes`, `once`; empty where there is no schedule. */
export function scheduleWords(automation: Scheduled): string {
  const { data, repeatInterval = '' } = automation;
  const kind = scheduleKind(automation);
  if (kind === 'times') return `${cronWords(data?.cron ?? '')}, ${data?.timeZone ?? 'UTC'}`;
  if (kind === 'every') return `every ${repeatInterval.replace(/^1 /u, '')}`;
  return kind === 'once' ? 'once' : '';
}

/** A cron expression in words; one without words as it is. */
export function cronWords(cron: string): string {
  const { kind, time, days, day } = timesOf(cron);
  const words: Readonly<Record<TimesKind, string>> = {
    hour: `every hour at minute ${Number(time.slice(3))}`,
    day: `every day at ${time}`,
    workdays: `every weekday at ${time}`,
    week: `every ${dayNames(days)} at ${time}`,
    month: `on day ${day} of each month at ${time}`,
    own: `cron ${cron}`,
  };
  return words[kind];
}

function dayNames(days: readonly number[]): string {
  const names = weekdays.filter(([number]) => days.includes(number)).map(([, name]) => name);
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

const plain = /^(\d{1,2}) (\*|\d{1,2}) (\*|\d{1,2}) \* (\*|[\d,-]+)$/u;

/** What a cron expression says in words that people use. */
export function timesOf(cron: string): Times {
  const fields = plainFields(cron);
  if (fields === undefined) return own;
  const [minute, hour, day, weekday] = fields;
  if (hour !== '*') return timesOfDays(`${two(hour)}:${two(minute)}`, day, weekday);
  return day === '*' && weekday === '*' ? { ...own, kind: 'hour', time: `00:${two(minute)}` } : own;
}

type Fields = readonly [minute: string, hour: string, day: string, weekday: string];

/** Of an expression with one minute and at most one hour, in every month. */
function plainFields(cron: string): Fields | undefined {
  const [, minute = '60', hour = '', day = '', weekday = ''] = plain.exec(cron.trim()) ?? [];
  return isPast(minute, 59) || isPast(hour, 23) ? undefined : [minute, hour, day, weekday];
}

const own: Times = { kind: 'own', time: '02:00', days: [1], day: 1 };

function isPast(field: string, last: number): boolean {
  return Number(field) > last;
}

function timesOfDays(time: string, day: string, weekday: string): Times {
  if (day === '*' && weekday === '*') return { ...own, kind: 'day', time };
  return weekday === '*' ? timesOfMonth(time, Number(day)) : timesOfWeek(time, day, weekday);
}

function timesOfMonth(time: string, day: number): Times {
  return day >= 1 && day <= 31 ? { ...own, kind: 'month', time, day } : own;
}

function timesOfWeek(time: string, day: string, weekday: string): Times {
  const days = day === '*' ? daysIn(weekday) : undefined;
  if (days === undefined) return own;
  return { ...own, kind: days.join() === '1,2,3,4,5' ? 'workdays' : 'week', time, days };
}

/** The days of `1-5` or `0,6`; undefined where it is something else. */
function daysIn(text: string): readonly number[] | undefined {
  const days = text.split(',').flatMap((part) => {
    const [first = NaN, last = first] = part.split('-').map(Number);
    return Array.from({ length: Math.max(0, Math.min(7, last - first) + 1) }, (_, at) => (first + at) % 7);
  });
  const isRight = /^[0-7](?:-[0-7])?(?:,[0-7](?:-[0-7])?)*$/u.test(text) && days.length > 0;
  return isRight ? [...new Set(days)].toSorted((one, other) => one - other) : undefined;
}

/** The cron expression of such times; empty for `own`. */
export function cronOf({ kind, time, days, day }: Times): string {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  const named = days.toSorted((one, other) => one - other).join(',');
  const crons: Readonly<Record<TimesKind, string>> = {
    hour: `${minute} * * * *`,
    day: `${minute} ${hour} * * *`,
    workdays: `${minute} ${hour} * * 1-5`,
    week: `${minute} ${hour} * * ${named === '1,2,3,4,5' ? '1-5' : named}`,
    month: `${minute} ${hour} ${day} * *`,
    own: '',
  };
  return crons[kind];
}

function two(text: string): string {
  return text.padStart(2, '0');
}

/** `Fri 27 Nov 2026, 02:30 GMT+1`: a due time in the zone of the schedule. */
export function dueText(at: string, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en-GB', { ...dueParts, timeZone }).format(new Date(at));
  } catch {
    // The zone is still being typed.
    return new Intl.DateTimeFormat('en-GB', dueParts).format(new Date(at));
  }
}

const dueParts = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
} as const;
