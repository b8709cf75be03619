import { sql, type Transaction } from 'kysely';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { BatchItem, ParentCall } from '../run-parent.ts';
import type { RunStoreContext } from '../run-store-context.ts';
import type { ItemReport } from './batch-records.ts';

type Dialect = RunStoreContext['database']['dialect'];
type ItemRow = Tables['run_batch_item'];

export type ItemCount = 'open' | 'completed' | 'failed' | 'unknown' | 'cancelled' | 'not_started';

/** `undecided`: 1 where one more run inside waits for a decision, -1 where one fewer does. `child`: its run, which begins. */
export interface ItemChange extends BatchItem, Pick<ItemReport, 'runStatus' | 'output' | 'error' | 'isCut'> {
  readonly undecided?: number;
  readonly child?: string;
}

/** In which counts of its batch an item is, and was. */
export interface MovedItem extends ParentCall {
  readonly index: number;
  readonly from: ItemCount;
  readonly to: ItemCount;
}

/** Of a call in the store, as columns of rows that a statement gets. */
export const callColumns = { run: 'text', activity: 'bigint', attempt: 'bigint' } as const;

export function idOfCall({ run, activity, attempt }: ParentCall, index?: number): string {
  return JSON.stringify([run, activity, attempt, index]);
}

function countOf(status: string): ItemCount {
  switch (status) {
    case 'notStarted':
      return 'not_started';
    case 'faulted':
      return 'failed';
    case 'completed':
    case 'cancelled':
    case 'unknown':
      return status;
    default:
      return 'open';
  }
}

/** Several changes of one item count in their order. */
export async function changeItems(
  dialect: Dialect,
  transaction: Transaction<Tables>,
  changes: readonly ItemChange[],
): Promise<readonly MovedItem[]> {
  if (changes.length === 0) return [];
  const byItem = Map.groupBy(changes, (change) => idOfCall(change, change.index));
  const items = await lockItems(dialect, transaction, changes);
  const changed = items.map((before) => {
    const { run, activity, attempt, item: index } = before;
    const after = itemAfter(before, byItem.get(idOfCall(before, index)) ?? []);
    const moved: MovedItem = { run, activity, attempt, index, from: countOf(before.status), to: countOf(after.status) };
    return { moved, row: [run, activity, attempt, index, ...Object.values(after)] };
  });
  const texts = { child: 'text', output: 'text', error: 'text', is_cut: 'bigint' } as const;
  const columns = { ...callColumns, item: 'bigint', status: 'text', run_status: 'text', undecided: 'bigint', ...texts } as const;
  const given = jsonRows(
    dialect,
    columns,
    changed.map(({ row }) => row),
  );
  await sql`update run_batch_item as known set status = given.status, run_status = given.run_status, undecided = given.undecided,
      child = coalesce(given.child, known.child), output = coalesce(given.output, known.output),
      error = coalesce(given.error, known.error), is_cut = case when given.is_cut = 1 then 1 else known.is_cut end
    from ${given} where known.run = given.run and known.activity = given.activity
      and known.attempt = given.attempt and known.item = given.item`.execute(transaction);
  return changed.map(({ moved }) => moved);
}

type LockedItem = Pick<ItemRow, 'run' | 'activity' | 'attempt' | 'item' | 'status' | 'run_status' | 'undecided'>;

/** The members are in the order of the columns. An item begins once: a write that the store got already comes again after an outage. */
function itemAfter(before: LockedItem, given: readonly ItemChange[]) {
  const changes = given.filter(({ child }) => child === undefined || before.run_status === null);
  const last = <Name extends keyof ItemChange>(name: Name): ItemChange[Name] | undefined =>
    changes.findLast((change) => change[name] !== undefined)?.[name];
  const undecided = changes.reduce((sum, change) => sum + (change.undecided ?? 0), before.undecided);
  const runStatus = last('runStatus') ?? before.run_status;
  const status = undecided > 0 ? 'unknown' : (runStatus ?? 'notStarted');
  const texts = { child: last('child') ?? null, output: last('output') ?? null, error: last('error') ?? null };
  return { status, runStatus, undecided, ...texts, isCut: Number(last('isCut') ?? false) };
}

async function lockItems(
  dialect: Dialect,
  transaction: Transaction<Tables>,
  changes: readonly ItemChange[],
): Promise<readonly LockedItem[]> {
  const rows = changes.map(({ run, activity, attempt, index }) => [run, activity, attempt, index]);
  const given = jsonRows(dialect, { ...callColumns, item: 'bigint' }, rows);
  const locking = dialect === 'postgres' ? sql`order by run, activity, attempt, item for update` : sql``;
  const result = await sql<LockedItem>`select run, activity, attempt, item, status, run_status, undecided from run_batch_item
    where (run, activity, attempt, item) in (select run, activity, attempt, item from ${given}) ${locking}`.execute(transaction);
  return result.rows;
}
