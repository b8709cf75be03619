import { hasRole, type Principal } from '#access/principal.ts';
import { readCursor } from '#audit/audit-query.ts';
import { listingRoles } from '#automations/automation-access.ts';
import {
  choiceParameter,
  cursorMembers,
  nameParameter,
  pageParameters,
  type QueryParameter,
  readTimeCursor,
  timeParameter,
  trueParameter,
} from '#base/text/query-parameters.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import type { RunStatus } from '../interpreter/state/run-state.ts';
import type { ItemSums } from '../journal/batches/batch-records.ts';
import type { RunFilter, RunPosition, StoredRunSummary } from '../journal/run-queries.ts';
import { itemFilterQuery } from './batch-items.ts';
import type { RunVisibility } from './run-access.ts';
import { isRunId, type RunCatalogueNeeds } from './run-requests.ts';
import { taskFilterQuery } from './run-tasks.ts';

export type { LastRun } from '../journal/last-runs-store.ts';

export interface RunListRequest {
  readonly principal: Principal;
  readonly filter: Omit<RunFilter, 'visibleTo'>;
  readonly page: { readonly limit: number; readonly after?: RunPosition | undefined };
}

/** `items`: of its batches; undefined where it has none. */
type SeenRun = StoredRunSummary & { readonly items?: ItemSums | undefined };

export type RunPage = VisiblePage<SeenRun, RunPosition>;

/** The store judges groups alone. Of its answer, runs that a role without the listing of automations may not see are left out. */
export async function listVisible(
  { principal, filter: asked, page: { limit, after } }: RunListRequest,
  { visibility, ...needs }: ListingNeeds & { readonly visibility: RunVisibility },
): Promise<RunPage> {
  const { store } = needs;
  const filter = { ...asked, automation: asked.automation && (await idOfAutomation(asked.automation, needs)) };
  const visibleTo = principal.roles.includes('admin') ? undefined : { principal: principal.id, groups: principal.groups };
  const listsAutomations = hasRole(principal, listingRoles);
  const page = await visiblePage({
    limit,
    after,
    read: (most, place) => store.list({ ...filter, visibleTo }, { limit: most, after: place }),
    sees: async (run) => listsAutomations || (await visibility.seesListed(principal, run)),
    placeOf: ({ createdAt, id }) => ({ createdAt, id }),
    sizeOf,
  });
  const sums = await store.sumsOfItems(page.list.map(({ id }) => id));
  return { ...page, list: page.list.map((run) => ({ ...run, items: sums.get(run.id) })) };
}

type ListingNeeds = Pick<RunCatalogueNeeds, 'automation' | 'automationNamed' | 'store'>;

/** An `_id` comes before a name that is the same. That of a deleted automation stays as it is. */
async function idOfAutomation(given: string, { automation, automationNamed }: ListingNeeds): Promise<string> {
  return (await automation(given)) === undefined ? ((await automationNamed(given)) ?? given) : given;
}

/** Bytes of a run in a list, apart from its longest members. */
const usualSize = 800;

function sizeOf({ error, automation, workflow }: StoredRunSummary): number {
  return usualSize + Buffer.byteLength(JSON.stringify([error, automation, workflow]));
}

export const runStatuses = [
  'pending',
  'running',
  'waiting',
  'suspended',
  'cancelled',
  'faulted',
  'completed',
] as const satisfies readonly RunStatus[];

/** Of runs, of the tasks of a run, and of its calls. */
const pageSize = { usual: 100, max: 1_000 } as const;

export const runListQuery = {
  automation: nameParameter('Only runs of the automation with this `_id` or name.', 'an `_id` or a name'),
  workflow: nameParameter('Only runs of the workflow with this id.'),
  status: choiceParameter(runStatuses, 'Only runs with this status.'),
  principal: nameParameter('Only runs that belong to the principal with this name.'),
  since: timeParameter('Only runs that were created at this time or later (RFC 3339).'),
  until: timeParameter('Only runs that were created before this time (RFC 3339).'),
  parent: {
    ...nameParameter('Only runs that this run began, those of its batches included.', 'the id of a run'),
    parse: readRunId,
  },
  children: trueParameter(
    '`true`: also the runs of batches, which a list leaves out.',
    'leave it out for a list without runs of batches',
  ),
  ...pageParameters(pageSize, (text) => readTimeCursor(text, isRunId)),
};

function readRunId(text: string): string | undefined {
  return isRunId(text) ? text : undefined;
}

const unchanged = '`cursor` of the previous page, unchanged';

/** Of `GET /runs/:id/tasks`. `cursor`: the number of a task. */
export const taskListQuery = {
  ...taskFilterQuery,
  ...pageParameters(pageSize, readTaskCursor, { cursor: `${unchanged}; the filters must stay the same.` }),
};

/** Of `GET /runs/:id/tasks/:taskId/items`. `cursor`: the index of an item. */
export const itemListQuery = {
  ...itemFilterQuery,
  ...pageParameters(pageSize, readTaskCursor, { cursor: `${unchanged}; the filters must stay the same.` }),
};

const task: QueryParameter<number, undefined> = {
  ...nameParameter('Only calls of the task with this id.', 'the id of a task'),
  parse: (text) => (/^(?:0|[1-9]\d{0,8})$/u.test(text) ? Number(text) : undefined),
};

export const callListQuery = {
  task,
  ...pageParameters(pageSize, readCursor, { cursor: `${unchanged}; the task must stay the same.` }),
};

/** `activity`: of the last task of the page. */
export function writeTaskCursor(activity: number): string {
  return Buffer.from(JSON.stringify([activity])).toString('base64url');
}

function readTaskCursor(text: string): number | undefined {
  const [activity, ...more] = cursorMembers(text);
  return Number.isSafeInteger(activity) && more.length === 0 ? (activity as number) : undefined;
}
