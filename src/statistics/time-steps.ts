import type { RequestProblem } from '#base/gateway-error.ts';
import type { Grain } from './rollup.ts';
import { grains } from './rollup.ts';

/** From `start` up to `end`, which is not in it: milliseconds since the epoch. */
export interface TimeStep {
  readonly start: number;
  readonly end: number;
}

/** Whole days of the calendar, or minutes, which begin again with each day. */
export type StepWidth = { readonly days: number } | { readonly minutes: number };

export interface StepRequest {
  /** Milliseconds since the epoch. `since` is at the latest `until`. */
  readonly since: number;
  readonly until: number;
  readonly width: StepWidth;
  /** An IANA name. */
  readonly timeZone: string;
}

const minutesOf = { m: 1, h: 60, d: 1_440 } as const;
const minutesOfDay = 1_440;

/** `15m`, `1h`, `1d`. Undefined: no such step, since the rollups have quarters of an hour, and a day begins with a step. */
export function readStepWidth(text: string): StepWidth | undefined {
  const [, digits, unit] = /^([1-9]\d{0,3})([mhd])$/u.exec(text) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const count = Number(digits);
  if (unit === 'd') return count <= 366 ? { days: count } : undefined;
  const minutes = count * minutesOf[unit as 'h' | 'm'];
  return minutes % 15 === 0 && minutesOfDay % minutes === 0 ? { minutes } : undefined;
}

const maxSteps = 400;

/** The whole steps from the one that has `since` to the one before `until`, or why there are too many. */
export function timeSteps(request: StepRequest): readonly TimeStep[] | { readonly problem: RequestProblem } {
  const { since, until, width } = request;
  const least = 60_000 * ('days' in width ? width.days * minutesOfDay : width.minutes);
  // A day has up to 25 hours, and the first and the last step may be cut.
  if ((until - since) / least > maxSteps * 1.05) return { problem: tooMany };
  const steps: TimeStep[] = [];
  let start: number | undefined;
  for (const next of beginnings(request)) {
    if (start !== undefined && next > since) steps.push({ start, end: next });
    if (next >= until) break;
    start = next;
  }
  return steps.length > maxSteps ? { problem: tooMany } : steps;
}

const tooMany: RequestProblem = {
  pointer: '?step',
  detail: `gives more than ${maxSteps} steps between since and until; take longer steps or a shorter time`,
};

/** From the last beginning that is not after `since`, without end. */
function* beginnings({ since, width, timeZone }: StepRequest): Generator<number, never, undefined> {
  let day = Temporal.Instant.fromEpochMilliseconds(since).toZonedDateTimeISO(timeZone).toPlainDate();
  for (;;) {
    if ('days' in width) yield beginOf(day, timeZone);
    else yield* beginningsOfDay(day, width.minutes, timeZone);
    day = day.add({ days: 'days' in width ? width.days : 1 });
  }
}

/** Up to an hour, steps follow elapsed time: a doubled hour has steps of its own. Longer ones begin at the same local times each day. */
function* beginningsOfDay(day: Temporal.PlainDate, minutes: number, timeZone: string): Generator<number> {
  if (minutes > 60) {
    for (let minute = 0; minute < minutesOfDay; minute += minutes)
      yield day.toZonedDateTime({ timeZone, plainTime: Temporal.PlainTime.from({ hour: minute / 60, minute: 0 }) })
        .epochMilliseconds;
    return;
  }
  const end = beginOf(day.add({ days: 1 }), timeZone);
  for (let at = beginOf(day, timeZone); at < end; at += minutes * 60_000) yield at;
}

/** Of the day: not at midnight where the clock goes forward then. */
function beginOf(day: Temporal.PlainDate, timeZone: string): number {
  return day.toZonedDateTime(timeZone).epochMilliseconds;
}

/** A part of a step that rows of one grain count: from `start` up to `end`, which is not in it. */
export interface CountedSpan extends TimeStep {
  /** The index of the step. */
  readonly step: number;
  readonly grain: Grain;
}

/** Coarse rows in the middle of each step, and finer ones at its ends. */
export function spansOf(steps: readonly TimeStep[]): readonly CountedSpan[] {
  return steps.flatMap((time, step) => covered(time, grains.toReversed()).map((span) => ({ ...span, step })));
}

function covered({ start, end }: TimeStep, [grain, ...finer]: readonly Grain[]): readonly Omit<CountedSpan, 'step'>[] {
  if (grain === undefined || start >= end) return [];
  // The finest rows are of the step in which they begin.
  if (finer.length === 0) return [{ grain, start, end }];
  const [from, to] = [Math.ceil(start / grain) * grain, Math.floor(end / grain) * grain];
  if (from >= to) return covered({ start, end }, finer);
  return [...covered({ start, end: from }, finer), { grain, start: from, end: to }, ...covered({ start: to, end }, finer)];
}

/** ISO 8601 with the offset of the time zone at that time; `Z` for UTC. */
export function localTime(at: number, timeZone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone);
  return zoned.toString({ timeZoneName: 'never', smallestUnit: 'millisecond' }).replace(/\+00:00$/u, 'Z');
}
