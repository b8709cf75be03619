import { hasRole, type Principal } from '#access/principal.ts';
import { listingRoles } from '#automations/automation-access.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import type { RunSight } from './run-access.ts';
import type { RunFilter, RunPlace, StoredRunSummary } from './run-queries.ts';
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
  return visiblePage({
    limit,
    after,
    read: (most, place) => store.list({ ...filter, visibleTo }, { limit: most, after: place }),
    sees: seesListed(principal, sight),
    placeOf: ({ createdAt, id }) => ({ createdAt, id }),
  });
}

/** Whether the principal may see a run that the store answered. */
function seesListed({ roles, id, ...principal }: Principal, sight: RunSight): (run: StoredRunSummary) => Promise<boolean> {
  const listsAutomations = hasRole({ roles }, listingRoles);
  return async ({ principal: owner, automation }) => {
    if (listsAutomations || owner.id === id) return true;
    return automation !== undefined && (await sight.seesAutomation({ roles, id, ...principal }, automation.id));
  };
}
