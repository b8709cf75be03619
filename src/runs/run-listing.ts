import type { Principal, Role } from '#access/principal.ts';
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
 * The store judges groups alone: a principal whose role does not list automations sees fewer runs than it answers. Those are left out, and
 * more is read for them, up to a limit.
 */
export async function listVisible(
  { principal, filter, page: { limit, after } }: RunListRequest,
  { store, sight }: { readonly store: RunStore; readonly sight: RunSight },
): Promise<RunPage> {
  const { roles, id, groups } = principal;
  const visibleTo = roles.includes('admin') ? undefined : { principal: id, groups };
  const judgesGroupsAlone = roles.some((role) => (listingRoles as readonly Role[]).includes(role));
  const list: StoredRunSummary[] = [];
  let next = after;
  for (let pages = 0; pages < mostPagesRead; pages += 1) {
    const read = await store.list({ ...filter, visibleTo }, { limit: limit + 1, after: next });
    for (const run of read.slice(0, limit)) {
      if (list.length === limit) return { list, next };
      const { automation } = run;
      const sees =
        judgesGroupsAlone ||
        run.principal.id === id ||
        (automation !== undefined && (await sight.seesAutomation(principal, automation.id)));
      if (sees) list.push(run);
      next = { createdAt: run.createdAt, id: run.id };
    }
    if (read.length <= limit) return { list, next: undefined };
    if (list.length === limit) return { list, next };
  }
  return { list, next };
}
