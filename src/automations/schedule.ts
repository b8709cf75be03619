import type { Automation } from './automation.ts';
import { nextOfCron } from './cron.ts';
import { nextAfter, parseRepeatInterval, type RepeatInterval } from './repeat-interval.ts';

/** When an automation is due again: a series of moments. Times are milliseconds since the epoch. */
export type Schedule =
  | { readonly kind: 'interval'; readonly interval: RepeatInterval; readonly anchor: number; readonly timeZone: string }
  | { readonly kind: 'cron'; readonly text: string; readonly timeZone: string };

/**
 * The schedule of an automation whose fields are valid; undefined where it is not repeated. `anchor`: where an interval counts from, if
 * the automation has no `data.scheduleFrom`.
 */
export function scheduleOf({ data, repeatInterval }: Automation, anchor: string | undefined): Schedule | undefined {
  const { cron, timeZone = 'UTC', scheduleFrom = anchor } = data ?? {};
  if (cron !== undefined) return { kind: 'cron', text: cron, timeZone };
  if (repeatInterval === undefined || scheduleFrom === undefined) return undefined;
  const interval = parseRepeatInterval(repeatInterval);
  if (interval.kind === 'fault') return undefined;
  return { kind: 'interval', interval, anchor: Date.parse(scheduleFrom), timeZone };
}

/** The first moment of the series after `after`; the anchor of an interval is its first moment. Undefined: there is none. */
export function nextDue(schedule: Schedule, after: number): number | undefined {
  if (schedule.kind === 'cron') return nextOfCron(schedule, after);
  const { interval, timeZone } = schedule;
  const next = nextAfter({ interval, timeZone, anchor: isoTime(schedule.anchor), after: isoTime(after) });
  return next === undefined ? undefined : Date.parse(next);
}

/** The latest moment that is due at `now`: `from`, which is not after `now`, or a later moment of the series. */
export function latestDue(schedule: Schedule, { from, now }: { readonly from: number; readonly now: number }): number {
  let [latest, end] = [from, now];
  // The series has no moment after `end` and up to `now`. Halving takes some 40 steps for a year of milliseconds.
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
