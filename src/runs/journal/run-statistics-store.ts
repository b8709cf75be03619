import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';
import type { EndedWork, StepSummary } from '#statistics/rollup.ts';
import type { TimeStep } from '#statistics/time-steps.ts';
import type { RunWrite } from './run-records.ts';
import type { RunStoreContext } from './run-store-context.ts';
import { visibleAutomation } from './run-visibility-store.ts';

type Beginning = Pick<Tables['run'], 'automation' | 'created_at' | 'parent'>;

/** Counts the runs that end with these writes, without those that other runs began. */
export async function countEnds(
  { rollups, gateway }: Pick<RunStoreContext, 'gateway' | 'rollups'>,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
  beginningOf: (run: string) => Beginning | undefined,
): Promise<void> {
  const ends = writes.flatMap(({ run, status, startedAt, endedAt }): readonly EndedWork[] => {
    const beginning = beginningOf(run);
    if (endedAt === undefined || beginning === undefined || beginning.parent !== null) return [];
    const duration = endedAt - (startedAt ?? beginning.created_at);
    return [{ kind: 'run', subject: beginning.automation ?? '', status, at: endedAt, duration }];
  });
  if (ends.length > 0) await rollups.counted(ends, { gateway }).execute(transaction);
}

/** Which automations: all, or those with an `_id` of the list. */
export type StatisticsScope = 'all' | readonly string[];

export function runStatistics(
  { rollups }: RunStoreContext,
  steps: readonly TimeStep[],
  scope: StatisticsScope,
): Promise<readonly StepSummary[]> {
  return rollups.summaries({ kind: 'run', steps, subjects: scope === 'all' ? undefined : scope });
}

/** The automations whose runs ended in these steps, of those that members of the groups may see. */
export function automationsWithEnds(
  context: RunStoreContext,
  steps: readonly TimeStep[],
  groups: readonly string[],
): Promise<readonly string[]> {
  const condition = visibleAutomation(context, 'rollup_subject.subject', groups);
  return context.rollups.subjects({ kind: 'run', steps, condition });
}
