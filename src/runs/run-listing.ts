import { hasRole, type Principal } from '#access/principal.ts';
import { listingRoles } from '#automations/automation-access.ts';
import type { RunSight } from './run-access.ts';
import type { RunFilter, RunPlace, StoredRunSummary } from './run-queries.ts';
import type { RunStore } from './run-store.ts';

export interface RunListRequest {
  readonly principal: Principal;
  readonly filter: Omit<RunFilter, 'visibleTo'>;
  readonly page: { readonly limit: number; readonly after?: RunPlace | undefined };
}

export interface RunPage {
  readonly list: readonly StoredRunSummary[];
  /** Where the next page begins; undefined: there is none. */
  readonly next: RunPlace | undefined;
}

/** Runs that one listing reads at most, as a multiple of its limit. */
const mostPagesRead = 10;

/**
 * The store judges groups alone. It answers runs that a principal whose role does not list automations may not see. Those are left out, and
 * more is read for them, up to a limit.
 */
export async function listVisible(
  { principal, filter, page: { limit, after } }: RunListRequest,
  { store, sight }: { readonly store: RunStore; readonly sight: RunSight },
): Promise<RunPage> {
  const sees = seesListed(principal, sight);
  const visibleTo = principal.roles.includes('admin') ? undefined : { principal: principal.id, groups: principal.groups };
  const list: StoredRunSummary[] = [];
  let next = after;
  for (let pages = 0; pages < mostPagesRead; pages += 1) {
    const read = await store.list({ ...filter, visibleTo }, { limit: limit + 1, after: next });
    for (const run of read.slice(0, limit)) {
      if (list.length === limit) return { list, next };
      if (await sees(run)) list.push(run);
      next = { createdAt: run.createdAt, id: run.id };
    }
    if (read.length <= limit) return { list, next: undefined };
    if (list.length === limit) break;
  }
  return { list, next };
}

/** Whether the principal may see a run that the store answered. */
function seesListed({ roles, id, ...principal }: Principal, sight: RunSight): (run: StoredRunSummary) => Promise<boolean> {
  const listsAutomations = hasRole({ roles }, listingRoles);
  return async ({ principal: owner, automation }) => {
    if (listsAutomations || owner.id === id) return true;
    return automation !== undefined && (await sight.seesAutomation({ roles, id, ...principal }, automation.id));
  };
}
