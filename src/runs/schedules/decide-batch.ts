import type { Transaction } from 'kysely';
import type { LastSkip, SkipCode } from '#automations/automation.ts';
import type { DueAutomation } from '#automations/timing/schedule.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { NewEvent, NewRun } from '../journal/run-records.ts';
import type { DueDecision } from './due-decision.ts';
import { lockSchedule, recordOccurrence } from './occurrence-store.ts';
import { skippedEvent } from './skipped-event.ts';

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
