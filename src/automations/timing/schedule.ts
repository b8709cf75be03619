import { Cron } from 'croner';
import { isTimeZone } from '#base/text/timestamp.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import type { Automation, LastSkip } from '../automation.ts';
import type { AutomationPeople } from '../automation-people.ts';
import { nextAfter, parseRepeatInterval, type RepeatInterval } from './repeat-interval.ts';

/** A series of moments. Times are milliseconds since the epoch. */
export type Schedule =
  | { readonly kind: 'interval'; readonly interval: RepeatInterval; readonly anchor: number; readonly timeZone: string }
  | { readonly kind: 'cron'; readonly text: string; readonly timeZone: string };

/**
 * Of an automation with valid fields; undefined: not repeated. `anchor`: where an interval counts from, without
 * `data.scheduleFrom`.
 */
export function scheduleOf({ data, repeatInterval }: Automation, anchor: string | undefined): Schedule | undefined {
  const { cron, timeZone = 'UTC', scheduleFrom = anchor } = data ?? {};
  if (cron !== undefined) return { kind: 'cron', text: cron, timeZone };
  if (repeatInterval === undefined || scheduleFrom === undefined) return undefined;
  const interval = parseRepeatInterval(repeatInterval);
  if (interval.kind === 'fault') return undefined;
  return { kind: 'interval', interval, anchor: Date.parse(scheduleFrom), timeZone };
}

/** The anchor of an interval is its first moment. Undefined: there is none. */
export function nextDue(schedule: Schedule, after: number): number | undefined {
  if (schedule.kind === 'cron') return nextOfCron(schedule, after);
  const { interval, timeZone } = schedule;
  const next = nextAfter({ interval, timeZone, anchor: isoTime(schedule.anchor), after: isoTime(after) });
  return next === undefined ? undefined : Date.parse(next);
}

/** The first due times of an automation from its `nextRunAt` on, as ISO 8601. */
export function nextTimes(automation: Automation, now: number, most = 5): readonly string[] {
  const { nextRunAt } = automation;
  if (nextRunAt === undefined) return [];
  const schedule = scheduleOf(automation, nextRunAt);
  const times = [Date.parse(nextRunAt)];
  if (schedule === undefined) return times.map(isoTime);
  for (let after = times[0] ?? now; times.length < most; ) {
    const next = nextDue(schedule, Math.max(now, after));
    if (next === undefined) break;
    times.push(next);
    after = next;
  }
  return times.map(isoTime);
}

/** `from`, which is not after `now`, or a later moment of the series. */
export function latestDue(schedule: Schedule, { from, now }: { readonly from: number; readonly now: number }): number {
  let [latest, end] = [from, now];
  // The series has no moment after `end` and up to `now`. Halving takes some 40 steps for a year.
  while (latest < end) {
    const middle = Math.floor((latest + end) / 2);
    const next = nextDue(schedule, middle);
    if (next !== undefined && next <= now) latest = next;
    else end = middle;
  }
  return latest;
}

function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export interface DueAutomation {
  readonly key: Uint8Array;
  readonly automation: Automation;
  readonly people: AutomationPeople;
  /** The `nextRunAt` that the owner wrote last. */
  readonly written: string | undefined;
  /** Milliseconds since the epoch. */
  readonly due: number;
}

/** What follows for an automation that was due. */
interface NextRun {
  readonly found: DueAutomation;
  /** Null: it is not due again. */
  readonly next: string | null;
  /** The new `lastRunAt`; undefined: no run began. */
  readonly startedAt: string | undefined;
  /** Undefined: `lastSkip` stays. */
  readonly skip: LastSkip | undefined;
}

/** Only automations count whose workflow exists, and whose authors are known and may have named it. */
export interface DueAutomations {
  /** At most `limit` that are due at `now`, the earliest first; `next`: the earliest time after `now`, if fewer are due. */
  find(options: { readonly now: number; readonly limit: number }): Promise<{
    readonly due: readonly DueAutomation[];
    readonly next: number | undefined;
  }>;
  /** A `nextRunAt` that was written meanwhile stays. Answers how many moved on. */
  moveOn(all: readonly NextRun[]): Promise<number>;
}

/** Of a merge patch of `nextRunAt` alone: `null` pauses the schedule, `next` ends the pause. */
export function steeringOf(patch: unknown): 'pause' | 'resume' | undefined {
  if (typeof patch !== 'object' || patch === null || Object.keys(patch).join() !== 'nextRunAt') return undefined;
  const { nextRunAt } = patch as { readonly nextRunAt?: unknown };
  if (nextRunAt === null) return 'pause';
  return nextRunAt === resumeWord ? 'resume' : undefined;
}

export const resumeWord = 'next';

/** `anchor`: what an interval counts from, without `data.scheduleFrom`. */
export function nextFrom(
  automation: Automation,
  { now, anchor }: { readonly now: number; readonly anchor: string | undefined },
): string {
  const schedule = scheduleOf(automation, anchor ?? new Date(now).toISOString());
  if (schedule === undefined)
    throw invalidRequest([
      { pointer: '/nextRunAt', detail: 'is "next", and the automation has neither data.cron nor repeatInterval' },
    ]);
  const next = nextDue(schedule, now);
  if (next === undefined)
    throw invalidRequest([{ pointer: '/nextRunAt', detail: 'is "next", and the schedule has no further time' }]);
  return new Date(next).toISOString();
}

const timeZoneForm = 'Europe/Berlin';

/** Undefined: the text is a time zone. The message names the zone of a city that is meant, or an example. */
export function timeZoneFault(text: string): string | undefined {
  if (isTimeZone(text)) return undefined;
  const city = text
    .slice(text.lastIndexOf('/') + 1)
    .replaceAll(' ', '_')
    .toLowerCase();
  const meant = Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase().endsWith(`/${city}`));
  return `must be a time zone of the IANA database, such as "${meant ?? timeZoneForm}"`;
}

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
function nextOfCron(cron: { readonly text: string; readonly timeZone: string }, after: number): number | undefined {
  return cronOf(cron.text, cron.timeZone).nextRun(new Date(after))?.getTime();
}

function cronOf(text: string, timezone: string): Cron {
  return new Cron(text.trim(), { timezone, mode: '5-part', fixedTimeRule: 'no-wildcard' });
}
