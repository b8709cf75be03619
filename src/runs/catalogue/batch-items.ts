import { choiceParameter, nameParameter } from '#base/text/query-parameters.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import type { ItemStatus, StoredBatch, StoredItem } from '../journal/batches/batch-records.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import type { StoredTask } from '../journal/run-records.ts';
import type { Mask } from '../secrets/mask.ts';
import { createDataMask, filledPasswordsOf } from '../task-data/data-mask.ts';
import type { RunFinder } from './run-finder.ts';
import type { RunCatalogueNeeds, RunRequest } from './run-requests.ts';

interface ItemsRequest extends RunRequest {
  readonly taskId: string;
  readonly limit: number;
  /** The index of an item. */
  readonly after?: number | undefined;
  readonly filter: ItemFilter;
}

interface ItemFilter {
  readonly status?: ItemStatus | undefined;
  /** In the item, the output or the error as JSON text; upper and lower case are the same. */
  readonly search?: string | undefined;
}

export const itemStatuses = [
  'notStarted',
  'pending',
  'running',
  'waiting',
  'suspended',
  'unknown',
  'cancelled',
  'faulted',
  'completed',
] as const satisfies readonly ItemStatus[];

export const itemFilterQuery = {
  status: choiceParameter(itemStatuses, 'Only items with this status: that of a run, `unknown` or `notStarted`.'),
  search: nameParameter('Only items with this text in the item, its output or its error; upper and lower case are the same.'),
};

/** `task`: of a run, by its id. */
export function createItemReading(
  needs: Pick<RunCatalogueNeeds, 'secrets' | 'store' | 'workflow'>,
  { finder, task }: { readonly finder: RunFinder; readonly task: (run: string, id: string) => Promise<StoredTask> },
) {
  const { store } = needs;
  return {
    /**
     * The items of a `call: batch` task, by their indices, for those who see the tasks of its run. None of another task, or before the batch
     * begins. A page may have fewer items than its limit, and still a `next`.
     */
    async items({ taskId, limit, after, filter, ...request }: ItemsRequest): Promise<VisiblePage<StoredItem, number>> {
      const { run } = await finder.visible(request, 'listBatchItems', 'listRunTasks');
      const { activity } = await task(run.id, taskId);
      const batch = await store.batchOfTask(run.id, activity);
      if (batch === undefined) return { list: [], next: undefined };
      const shown = await itemMaskOf(run, needs);
      return await itemPage(store, { batch, shown, limit, after, filter });
    },
  };
}

/** What readers see of the items: the task has evaluated them, and they may be what people filled in. */
export async function itemMaskOf(
  run: StoredRunSummary,
  { store, secrets, workflow: load }: Pick<RunCatalogueNeeds, 'secrets' | 'store' | 'workflow'>,
): Promise<Mask> {
  const { workflow, version, workflowDigest: digest, seed } = run;
  const found = await load({ id: workflow, version, digest });
  const own = secrets.ofRun({ seed, workflow, names: found?.workflow.secrets ?? [] });
  const passwords = await filledPasswordsOf(run, store);
  return createDataMask({ hide: (text) => own.hide(secrets.mask(text)), passwords });
}

function itemPage(
  store: RunCatalogueNeeds['store'],
  {
    batch,
    shown,
    limit,
    after,
    filter: { status, search },
  }: Pick<ItemsRequest, 'after' | 'filter' | 'limit'> & { readonly batch: StoredBatch; readonly shown: Mask },
): Promise<VisiblePage<StoredItem, number>> {
  const wanted = search?.toLowerCase();
  return visiblePage({
    limit,
    after,
    async read(most, place = -1) {
      const items = await store.items(batch, { limit: most, after: place, status });
      return items.map((item) => ({
        ...item,
        value: shown(item.value),
        output: item.output && shown(item.output),
        error: item.error && shown(item.error),
      }));
    },
    sees: ({ value, output, error }) =>
      wanted === undefined || [value, output, error].some((text) => text?.toLowerCase().includes(wanted)),
    placeOf: ({ index }) => index,
    sizeOf: ({ value, output = '', error = '' }) =>
      usualItemSize + [value, output, error].reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  });
}

/** Bytes of an item in a list, apart from its texts. */
const usualItemSize = 200;
