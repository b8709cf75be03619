import { hasRole, type Principal } from '#access/principal.ts';
import { listingRoles } from '#automations/automation-access.ts';
import type { StepSummary } from '#statistics/rollup.ts';
import type { TimeStep } from '#statistics/time-steps.ts';
import type { RunStore } from '../journal/run-store.ts';
import type { RunVisibility } from './run-access.ts';

interface Needs {
  readonly store: Pick<RunStore, 'automationsWithEnds' | 'statistics'>;
  readonly visibility: Pick<RunVisibility, 'seesRunsOf'>;
}

/** Of the runs of automations that the principal may see, a summary for each step. Those of deleted automations are for admins alone. */
export async function statisticsFor(
  principal: Principal,
  steps: readonly TimeStep[],
  { store, visibility }: Needs,
): Promise<readonly StepSummary[]> {
  const { groups } = principal;
  if (principal.roles.includes('admin')) return await store.statistics(steps, 'all');
  const automations = await store.automationsWithEnds(steps, groups);
  // They see what their groups may see.
  if (hasRole(principal, listingRoles)) return await store.statistics(steps, automations);
  // Asked at once, because the store then answers many in one statement.
  const seen = await Promise.all(automations.map((id) => visibility.seesRunsOf(principal, id)));
  return await store.statistics(
    steps,
    automations.filter((_, index) => seen[index]),
  );
}
