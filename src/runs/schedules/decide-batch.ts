import type { Transaction } from 'kysely';
import type { Automation, LastSkip, SkipCode } from '#automations/automation.ts';
import { type DueAutomation, latestDue, nextDue, type Schedule, scheduleOf } from '#automations/timing/schedule.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { NewEvent, NewRun } from '../journal/run-records.ts';
import { lockSchedule, recordOccurrence } from './occurrence-store.ts';

/** `refused`: why the automation cannot run, in one sentence; `code`: the same in a word, for programs. */
export type ScheduledStart = { readonly run: NewRun } | { readonly refused: string; readonly code: SkipCode };

/** A due automation, what follows for it, and the run that would begin; `start` is absent where only its next time changes. */
export interface PlannedOccurrence {
  readonly found: DueAutomation;
  readonly decision: DueDecision;
  readonly start: ScheduledStart | undefined;
}

/**
 * `started`: its run was created. `skipped`: it is on record without a run. `known`: it was decided before, or does not run.
 */
export interface OccurrenceOutcome {
  readonly kind: 'started' | 'skipped' | 'known';
  /** When its run began, also where that was decided before. ISO 8601. */
  readonly startedAt?: string | undefined;
  /** Set where it has no run, also where that was decided before. */
  readonly skip?: LastSkip | undefined;
}

/** Creates runs in the transaction that decides about them (`RunStore.changeWith`). */
export type CreateRunsWith = <T>(
  work: (
    transaction: Transaction<Tables>,
  ) => Promise<{ readonly result: T; readonly runs: readonly NewRun[]; readonly events: readonly NewEvent[] }>,
) => Promise<T>;

interface BatchOptions {
  readonly createWith: CreateRunsWith;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const stillOpen = {
  running: { code: 'running', refused: 'The run that the schedule began last has not ended.' },
  suspended: { code: 'suspended', refused: 'The run that the schedule began last is suspended.' },
} as const satisfies Record<string, ScheduledStart>;

/** Characters of a reason that are kept. */
const maxReasonLength = 1_000;

/**
 * Decides about all of them in one transaction. After a rejection nothing was decided. The catalogue learns of it afterwards
 * (`DueAutomations.moveOn`). Until then a gateway that finds the same due time finds it decided.
 */
export function decideBatch(
  planned: readonly PlannedOccurrence[],
  options: BatchOptions,
): Promise<ReadonlyMap<PlannedOccurrence, OccurrenceOutcome>> {
  // All gateways lock in one order.
  const ordered = planned.toSorted((one, other) => Buffer.compare(one.found.key, other.found.key));
  return options.createWith(async (transaction) => {
    const runs: NewRun[] = [];
    const events: NewEvent[] = [];
    const result = new Map<PlannedOccurrence, OccurrenceOutcome>();
    for (const each of ordered) {
      const { run, ...outcome } = await decideOne(transaction, each, options);
      result.set(each, outcome);
      if (run !== undefined) runs.push(run);
      if (outcome.kind === 'skipped' && outcome.skip !== undefined)
        events.push(skippedEvent(each.found.automation, outcome.skip, options.now));
    }
    return { result, runs, events };
  });
}

async function decideOne(
  transaction: Transaction<Tables>,
  { found, decision, start }: PlannedOccurrence,
  { now }: BatchOptions,
): Promise<OccurrenceOutcome & { readonly run?: NewRun | undefined }> {
  const { key: automation } = found;
  const last = await lockSchedule(transaction, automation);
  const { due } = decision;
  if (due === undefined || start === undefined) return { kind: 'known' };
  const given = 'run' in start && last.open !== undefined ? stillOpen[last.open] : start;
  const run = 'run' in given ? given.run : undefined;
  const { isNew, startedAt } = await recordOccurrence(transaction, { automation, due, run: run?.id, decidedAt: now });
  const skip = startedAt === undefined ? skipOf(due, given) : undefined;
  if (!isNew) return { kind: 'known', startedAt, skip };
  return skip ? { kind: 'skipped', skip } : { kind: 'started', startedAt, run };
}

function skipOf(due: number, start: ScheduledStart): LastSkip | undefined {
  if ('run' in start) return undefined;
  const { code, refused } = start;
  return { due: new Date(due).toISOString(), code, reason: refused.slice(0, maxReasonLength).toWellFormed() };
}

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
interface DueDecision {
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

/** The event of a due time without a run, as a CloudEvent 1.0. The due time is its id, so that each has one event. */
function skippedEvent({ _id, name, data }: Automation, { due, code, reason }: LastSkip, at: number): NewEvent {
  const event = {
    specversion: '1.0',
    id: due,
    source: `/automations/${_id}`,
    type: 'orchestration-gateway.occurrence.skipped.v1',
    time: new Date(at).toISOString(),
    subject: _id,
    datacontenttype: 'application/json',
    data: { automation: { _id, name }, workflow: data?.workflowId, due, code, reason },
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}
