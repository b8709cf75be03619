import type { Automation } from '#automations/automation.ts';
import { latestDue, nextDue, type Schedule, scheduleOf } from '#automations/timing/schedule.ts';

/** An automation whose `nextRunAt` has come. Times are milliseconds since the epoch. */
interface DueFacts {
  readonly automation: Automation;
  /** The `nextRunAt` that its owner wrote last. */
  readonly written: string | undefined;
  /** The `nextRunAt` in effect. */
  readonly due: number;
  readonly now: number;
  /** When the store got its tables of schedules. */
  readonly since: number;
}

/** What follows for an automation that is due. */
export interface DueDecision {
  /** The due time that a run is for; undefined: none, because it is from before the tables. */
  readonly due: number | undefined;
  /** The `nextRunAt` after it; null: it is not due again. */
  readonly next: string | null;
  /** The interval or the cron expression, or `once`. */
  readonly schedule: string;
}

/** One run for all times that were missed, for the latest of them. The next time is in the future. */
export function decideDue({ automation, written, due, now, since }: DueFacts): DueDecision {
  const series = scheduleOf(automation, written);
  const schedule = automation.data?.cron ?? automation.repeatInterval ?? 'once';
  if (due >= since || isYoung(automation)) return { ...latestAndNext(series, due, now), schedule };
  const first = series && nextDue(series, since - 1);
  if (series === undefined || first === undefined || first > now) return { due: undefined, next: timeText(first), schedule };
  return { ...latestAndNext(series, first, now), schedule };
}

/** True where an owner wrote the schedule since the store has its tables: that sets the anchor, and cron is as young as they are. */
function isYoung({ data = {} }: Automation): boolean {
  return data.scheduleFrom !== undefined || data.cron !== undefined;
}

function latestAndNext(series: Schedule | undefined, from: number, now: number): Omit<DueDecision, 'schedule'> {
  if (series === undefined) return { due: from, next: null };
  // The usual case: nothing was missed.
  const next = nextDue(series, from);
  if (next === undefined || next > now) return { due: from, next: timeText(next) };
  return { due: latestDue(series, { from, now }), next: timeText(nextDue(series, now)) };
}

function timeText(time: number | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString();
}
