import type { Transaction } from 'kysely';
import type { DueAutomation, DueAutomations } from '#automations/automation-due.ts';
import type { Tables } from '#database/tables.ts';
import type { NewRun } from '#runs/run-records.ts';
import type { DueDecision } from './due-decision.ts';
import { lockSchedule, recordOccurrence } from './occurrence-store.ts';

/** `refused`: why the automation cannot run, in one sentence. */
export type ScheduledStart = { readonly run: NewRun } | { readonly refused: string };

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
}

/** Creates runs in the transaction that decides about them (`RunStore.createWith`). */
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

/** Decides about all of them in one transaction, and answers the outcomes in their order. After a rejection nothing was decided. */
export function decideBatch(
  planned: readonly PlannedOccurrence[],
  { automations, createWith, now }: BatchOptions,
): Promise<ReadonlyMap<PlannedOccurrence, OccurrenceOutcome>> {
  // All gateways lock in one order.
  const ordered = planned.toSorted((one, other) => Buffer.compare(one.found.key, other.found.key));
  return createWith(async (transaction) => {
    const runs: NewRun[] = [];
    const result = new Map<PlannedOccurrence, OccurrenceOutcome>();
    for (const each of ordered) {
      const { found, decision, start } = each;
      const running = await lockSchedule(transaction, found.key);
      if (!(await automations.moveOn(transaction, found, decision.next))) {
        result.set(each, { kind: 'lost' });
        continue;
      }
      if (decision.due === undefined || start === undefined) {
        result.set(each, { kind: 'moved' });
        continue;
      }
      const run = 'run' in start && !running.runs ? start.run : undefined;
      const { key: automation } = found;
      const isNew = await recordOccurrence(transaction, { automation, due: decision.due, run: run?.id, decidedAt: now });
      if (!isNew) result.set(each, { kind: 'moved' });
      else if (run === undefined) {
        result.set(each, { kind: 'skipped', reason: 'refused' in start ? start.refused : stillRunning });
      } else {
        await automations.noteStart(transaction, found, new Date(now).toISOString());
        runs.push(run);
        result.set(each, { kind: 'started' });
      }
    }
    return { result, runs };
  });
}
