import { hasRole, type Principal } from '#access/principal.ts';
import { listingRoles } from '#automations/automation-access.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import type { RunSight } from './run-access.ts';
import type { RunFilter, RunPlace, StoredRunSummary } from './run-queries.ts';
import type { TaskRecord } from './run-records.ts';
import type { RunStore } from './run-store.ts';

export interface RunListRequest {
  readonly principal: Principal;
  readonly filter: Omit<RunFilter, 'visibleTo'>;
  readonly page: { readonly limit: number; readonly after?: RunPlace | undefined };
}

export type RunPage = VisiblePage<StoredRunSummary, RunPlace>;

/** The store judges groups alone. It answers runs that a principal whose role does not list automations may not see. Those are left out. */
export function listVisible(
  { principal, filter, page: { limit, after } }: RunListRequest,
  { store, sight }: { readonly store: RunStore; readonly sight: RunSight },
): Promise<RunPage> {
  const visibleTo = principal.roles.includes('admin') ? undefined : { principal: principal.id, groups: principal.groups };
  const listsAutomations = hasRole(principal, listingRoles);
  return visiblePage({
    limit,
    after,
    read: (most, place) => store.list({ ...filter, visibleTo }, { limit: most, after: place }),
    sees: async (run) => listsAutomations || (await sight.seesListed(principal, run)),
    placeOf: ({ createdAt, id }) => ({ createdAt, id }),
    sizeOf,
  });
}

export function taskPage(
  store: Pick<RunStore, 'tasks'>,
  run: string,
  { limit, after }: { readonly limit: number; readonly after: number | undefined },
): Promise<VisiblePage<TaskRecord, number>> {
  return visiblePage({
    limit,
    after,
    read: (most, place) => store.tasks(run, { limit: most, after: place }),
    sees: () => true,
    placeOf: ({ activity }) => activity,
    sizeOf: (task) => usualTaskSize + Buffer.byteLength(JSON.stringify(task)),
  });
}

/** Bytes of a run in a list, apart from its longest members. */
const usualSize = 600;
/** Bytes by which the times of a task are longer as text. */
const usualTaskSize = 100;

function sizeOf({ error, automation, workflow }: StoredRunSummary): number {
  return usualSize + Buffer.byteLength(JSON.stringify([error, automation, workflow]));
}
