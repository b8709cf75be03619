import { sql } from 'kysely';
import { isOneOf } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ParentCall, TaskTurn } from '../run-parent.ts';
import type { RunStoreContext } from '../run-store-context.ts';
import type { ItemStatus, ItemSums, StoredBatch, StoredItem } from './batch-records.ts';

/** A page of items, in the order of their indices. */
export interface ItemPage {
  readonly limit: number;
  /** The index at the end of the page before; -1 for the first page. */
  readonly after: number;
  readonly status?: ItemStatus | undefined;
}

export async function readBatch(
  { database: { read } }: RunStoreContext,
  { run, activity, attempt }: ParentCall,
): Promise<StoredBatch | undefined> {
  const row = await read
    .selectFrom('run_batch')
    .selectAll()
    .where('run', '=', run)
    .where('activity', '=', activity)
    .where('attempt', '=', attempt)
    .executeTakeFirst();
  return row && batchOf(row);
}

/** In the order of their begin. */
export async function batchesOf({ database: { read } }: RunStoreContext, run: string): Promise<readonly StoredBatch[]> {
  const rows = await read
    .selectFrom('run_batch')
    .selectAll()
    .where('run', '=', run)
    .orderBy('activity')
    .orderBy('attempt')
    .execute();
  return rows.map(batchOf);
}

/** Of the task with this number: its last attempt. */
export async function batchOfTask(
  { database: { read } }: RunStoreContext,
  run: string,
  activity: number,
): Promise<StoredBatch | undefined> {
  const rows = read.selectFrom('run_batch').selectAll().where('run', '=', run).where('activity', '=', activity);
  const row = await rows.orderBy('attempt', 'desc').limit(1).executeTakeFirst();
  return row && batchOf(row);
}

/** By run. One without a batch is absent. */
export async function sumsOfItems(
  { database: { dialect, read } }: RunStoreContext,
  runs: readonly string[],
): Promise<ReadonlyMap<string, ItemSums>> {
  if (runs.length === 0) return new Map();
  const sum = (column: string) => sql<number>`cast(sum(${sql.ref(column)}) as bigint)`;
  const rows = await read
    .selectFrom('run_batch')
    .select([
      'run',
      sql<number>`coalesce(max(case when ended_at is null then parallel end), max(parallel))`.as('parallel'),
      sum('total').as('total'),
      sum('completed').as('completed'),
      sum('failed').as('failed'),
      sum('unknown').as('unknown'),
      sum('cancelled').as('cancelled'),
      sum('not_started').as('notStarted'),
    ])
    .where(isOneOf(dialect, 'run', runs))
    .groupBy('run')
    .execute();
  return new Map(rows.map(({ run, ...sums }) => [run, sums]));
}

/** Those that have not ended. */
export async function openBatches({ database: { read } }: RunStoreContext, run: string): Promise<readonly ParentCall[]> {
  const open = read.selectFrom('run_batch').select(['run', 'activity', 'attempt']).where('run', '=', run);
  return await open.where('ended_at', 'is', null).execute();
}

export async function readItems(
  { database: { read } }: RunStoreContext,
  { run, activity, attempt }: ParentCall,
  { limit, after, status }: ItemPage,
): Promise<readonly StoredItem[]> {
  let query = read
    .selectFrom('run_batch_item')
    .select(['item', 'value', 'status', 'child', 'output', 'error', 'is_cut'])
    .where('run', '=', run)
    .where('activity', '=', activity)
    .where('attempt', '=', attempt)
    .where('item', '>', after);
  if (status !== undefined) query = query.where('status', '=', status);
  const rows = await query.orderBy('item').limit(limit).execute();
  return rows.map((row) => ({
    index: row.item,
    value: row.value,
    status: row.status as ItemStatus,
    run: row.child ?? undefined,
    output: row.output ?? undefined,
    error: row.error ?? undefined,
    isCut: row.is_cut === 1,
  }));
}

/** Ids of the runs of items that have not ended. */
export async function openItems(
  { database: { read } }: RunStoreContext,
  { run, activity, attempt }: ParentCall,
): Promise<readonly string[]> {
  const rows = await read
    .selectFrom('run_batch_item')
    .select('child')
    .where('run', '=', run)
    .where('activity', '=', activity)
    .where('attempt', '=', attempt)
    .where('status', 'not in', ['notStarted', 'completed', 'faulted', 'cancelled'])
    .execute();
  return rows.flatMap(({ child }) => child ?? []);
}

function batchOf(row: Tables['run_batch']): StoredBatch {
  const { run, activity, attempt, reference, workflow, version, parallel, canary, failures, state } = row;
  const { total, open, completed, failed, unknown, cancelled } = row;
  const named = { run, activity, attempt, reference, workflow, version, parallel, canary, failures, state };
  const counts = { total, open, completed, failed, unknown, cancelled, notStarted: row.not_started };
  return {
    ...named,
    ...counts,
    turn: JSON.parse(row.turn) as TaskTurn,
    digest: row.digest ?? undefined,
    stopAfter: row.stop_after ?? undefined,
    lastItem: row.last_item,
    beganAt: row.began_at,
    undecidedAt: row.undecided_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}
