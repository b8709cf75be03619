import type { Automation, AutomationData } from '../automation.ts';
import type { GivenAutomation } from '../automation-document.ts';
import { nextDue, scheduleOf } from './schedule.ts';

interface ScheduleWrite {
  /** Undefined: the write creates the automation. */
  readonly current: Automation | undefined;
  /** Times in UTC. */
  readonly given: GivenAutomation;
  /** What a merge patch does with `nextRunAt`; undefined: the caller gave the whole document. */
  readonly patched?: 'written' | 'removed' | 'kept' | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface SettledTimes {
  readonly nextRunAt?: string | undefined;
  readonly scheduleFrom?: string | undefined;
}

export function patchOfNextRun(patch: unknown): NonNullable<ScheduleWrite['patched']> {
  if (typeof patch !== 'object' || patch === null || !Object.hasOwn(patch, 'nextRunAt')) return 'kept';
  return (patch as { readonly nextRunAt: unknown }).nextRunAt === null ? 'removed' : 'written';
}

/**
 * Sets `nextRunAt` and `data.scheduleFrom`. With `cron` the gateway computes `nextRunAt`, from a written one on. Without
 * `nextRunAt` an automation is paused until it is written, or `cron` or `repeatInterval` changes.
 */
export function withSettledSchedule(write: ScheduleWrite): GivenAutomation & Pick<Automation, 'data'> {
  const { nextRunAt: _next, data, ...rest } = write.given;
  const { scheduleFrom: _from, ...given }: AutomationData = data ?? {};
  const { nextRunAt, scheduleFrom } = given.cron === undefined ? counted(write) : computed(write);
  const hasData = data !== undefined || scheduleFrom !== undefined;
  return {
    ...rest,
    ...(hasData && { data: { ...given, ...(scheduleFrom !== undefined && { scheduleFrom }) } }),
    ...(nextRunAt !== undefined && { nextRunAt }),
  };
}

const nothing: Automation = { _id: '', name: '' };

/** A whole document that repeats the value in effect does not write it. */
function writesNext({ current = nothing, given: { nextRunAt }, patched }: ScheduleWrite): boolean {
  return nextRunAt !== undefined && (patched === 'written' || nextRunAt !== current.nextRunAt);
}

function computed(write: ScheduleWrite): SettledTimes {
  const { current = nothing, given, patched, now } = write;
  const { nextRunAt } = given;
  const from = (after: number): SettledTimes => ({ nextRunAt: firstOf(given, { after }) });
  const isChanged = (field: 'cron' | 'timeZone'): boolean => given.data?.[field] !== current.data?.[field];
  if (patched === 'removed') return {};
  if (nextRunAt !== undefined && writesNext(write)) return from(Math.max(now, Date.parse(nextRunAt) - 1));
  if (isChanged('cron')) return from(now);
  if (current.nextRunAt === undefined) return {};
  return nextRunAt === undefined || isChanged('timeZone') ? from(now) : { nextRunAt };
}

/** Without `cron`. */
function counted(write: ScheduleWrite): SettledTimes {
  const { current = nothing, given } = write;
  const { nextRunAt, repeatInterval } = given;
  if (writesNext(write)) return { nextRunAt, scheduleFrom: nextRunAt };
  if (nextRunAt === undefined) return repeatInterval === undefined ? {} : pausedOrResumed(write);
  const isChanged = repeatInterval !== current.repeatInterval;
  return { nextRunAt, scheduleFrom: isChanged ? nextRunAt : current.data?.scheduleFrom };
}

/** A repeat interval without `nextRunAt` keeps its anchor. */
function pausedOrResumed({ current = nothing, given, patched, now }: ScheduleWrite): SettledTimes {
  const scheduleFrom = current.data?.scheduleFrom ?? current.nextRunAt;
  const isPaused = patched === 'removed' || current.nextRunAt !== undefined;
  if (isPaused || scheduleFrom === undefined || given.repeatInterval === current.repeatInterval) return { scheduleFrom };
  return { nextRunAt: firstOf(given, { after: now, anchor: scheduleFrom }), scheduleFrom };
}

function firstOf(
  { name, data, repeatInterval }: GivenAutomation,
  { after, anchor }: { readonly after: number; readonly anchor?: string },
): string | undefined {
  const { scheduleFrom: _, ...given }: AutomationData = data ?? {};
  const automation = { _id: '', name, data: given, ...(repeatInterval !== undefined && { repeatInterval }) };
  const schedule = scheduleOf(automation, anchor);
  const next = schedule && nextDue(schedule, after);
  return next === undefined ? undefined : new Date(next).toISOString();
}
