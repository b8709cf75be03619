import type { Transaction } from 'kysely';
import type { DueAutomation, DueAutomations } from '#automations/automation-due.ts';
import type { Tables } from '#database/tables.ts';
import type { NewRun } from '#runs/run-records.ts';
import type { DueDecision } from './due-decision.ts';
import { lockSchedule, recordOccurrence } from './occurrence-store.ts';

/** `refused`: why the automation cannot run, in one sentence; `code`: the same in a word, for programs. */
export type ScheduledStart = { readonly run: NewRun } | { readonly refused: string; readonly code?: SkipCode };

/** Why a due time began no run because of people. */
type SkipCode = 'delegation-lost' | 'person-gone';

/** A due automation, what follows for it, and the run that would begin; `start` is absent where only its next time changes. */
export interface PlannedOccurrence {
  readonly found: DueAutomation;
  readonly decision: DueDecision;
  readonly start: ScheduledStart | undefined;
}

/**
 * `started`: its run was created. `skipped`: it is on record without a run. `moved`: its next time changed, for a due time that was decided
 * before or does not run. `lost`: another gateway was first.
 */
export interface OccurrenceOutcome {
  readonly kind: 'started' | 'skipped' | 'moved' | 'lost';
  /** Why it was skipped. */
  readonly reason?: string;
  readonly code?: SkipCode | undefined;
}

/** Creates runs in the transaction that decides about them (`RunStore.changeWith`). */
export type CreateRunsWith = <T>(
  work: (transaction: Transaction<Tables>) => Promise<{ readonly result: T; readonly runs: readonly NewRun[] }>,
) => Promise<T>;

interface BatchOptions {
  readonly automations: DueAutomations;
  readonly createWith: CreateRunsWith;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const stillRunning = 'The run that the schedule began last has not ended.';

/** Decides about all of them in one transaction. After a rejection nothing was decided. */
export function decideBatch(
  planned: readonly PlannedOccurrence[],
  options: BatchOptions,
): Promise<ReadonlyMap<PlannedOccurrence, OccurrenceOutcome>> {
  // All gateways lock in one order.
  const ordered = planned.toSorted((one, other) => Buffer.compare(one.found.key, other.found.key));
  return options.createWith(async (transaction) => {
    const runs: NewRun[] = [];
    const result = new Map<PlannedOccurrence, OccurrenceOutcome>();
    for (const each of ordered) {
      const { run, ...outcome } = await decideOne(transaction, each, options);
      result.set(each, outcome);
      if (run !== undefined) runs.push(run);
    }
    return { result, runs };
  });
}

async function decideOne(
  transaction: Transaction<Tables>,
  { found, decision, start }: PlannedOccurrence,
  { automations, now }: BatchOptions,
): Promise<OccurrenceOutcome & { readonly run?: NewRun }> {
  const { key: automation } = found;
  const last = await lockSchedule(transaction, automation);
  if (!(await automations.moveOn(transaction, found, decision.next))) return { kind: 'lost' };
  const { due } = decision;
  if (due === undefined || start === undefined) return { kind: 'moved' };
  const skipped = 'refused' in start ? { reason: start.refused, code: start.code } : { reason: stillRunning };
  const run = 'run' in start && !last.runs ? start.run : undefined;
  const isNew = await recordOccurrence(transaction, { automation, due, run: run?.id, decidedAt: now });
  if (!isNew) return { kind: 'moved' };
  if (run === undefined) return { kind: 'skipped', ...skipped };
  await automations.noteStart(transaction, found, new Date(now).toISOString());
  return { kind: 'started', run };
}
