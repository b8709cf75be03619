import { createHash } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ItemRepetition } from '../run-records.ts';
import type { RunStoreContext } from '../run-store-context.ts';
import type { NewBatch } from './batch-records.ts';

type Dialect = RunStoreContext['database']['dialect'];

/** The same for a batch in a repetition of its run. */
export function placeOfBatch({ reference, turn }: Pick<NewBatch, 'reference' | 'turn'>): string {
  return createHash('sha256')
    .update(JSON.stringify([turn, reference]))
    .digest('base64url');
}

/** The id of a child begins with that of its parent. */
export function outermostOf(run: string): string {
  return run.split('.', 1)[0] ?? run;
}

/** What a run takes of the items of another one. */
export interface TakenItems {
  /** How many. */
  readonly items: number;
  /** Batches that had not begun run whole. */
  readonly hasRest: boolean;
  /** Runs that took items before. */
  readonly others: readonly string[];
}

interface Taking {
  /** The outermost run whose items are taken; `repeats`: its own repetition. */
  readonly from: { readonly id: string; readonly repeats?: ItemRepetition | undefined };
  /** The run that takes them. */
  readonly by: string;
}

/** An item with one of these is repeated. */
const repeatable = sql`('faulted', 'cancelled', 'notStarted')`;

/** Takes what a run left of its batches. The transaction creates the run that repeats it, and has locked the row of the repeated one. */
export async function takeItemsIn(transaction: Transaction<Tables>, dialect: Dialect, { from, by }: Taking): Promise<TakenItems> {
  const places = [...(await lastBatches(transaction, from.id)).entries()];
  let items = await takeUnbegun(transaction, { from: from.id, by });
  for (const [place, { run, activity, attempt }] of places) {
    const { rows } = await sql<{ readonly item: number; readonly value: string }>`update run_batch_item set taken_by = ${by}
      where run = ${run} and activity = ${activity} and attempt = ${attempt} and status in ${repeatable} and taken_by is null
      returning item, value`.execute(transaction);
    items += rows.length;
    const given = rows.map(({ item, value }) => [item, value]);
    await sql`insert into run_repeated_item (run, place, item, value) select cast(${by} as text), cast(${place} as text), item, value
      from ${jsonRows(dialect, { item: 'bigint', value: 'text' }, given)}`.execute(transaction);
  }
  await sql`insert into run_repeated_place (run, place) select distinct cast(${by} as text), place from run_batch
    where outermost = ${from.id} union select cast(${by} as text), place from run_repeated_place where run = ${from.id}`.execute(
    transaction,
  );
  const { numUpdatedRows } = await transaction
    .updateTable('run')
    .set({ rest_taken_by: by })
    .where('id', '=', from.id)
    .where('rest_taken_by', 'is', null)
    // Of a run whose details are gone, it is not known which batches had begun.
    .where('is_stripped', '=', 0)
    .executeTakeFirst();
  const hasRest = numUpdatedRows === 1n && from.repeats?.hasRest !== false;
  return { items, hasRest, others: items > 0 ? [] : await othersOf(transaction, from.id) };
}

type BatchKey = Pick<Tables['run_batch'], 'activity' | 'attempt' | 'run'>;

/** By place. A batch that was tried again has several rows, and the last one counts. */
async function lastBatches(transaction: Transaction<Tables>, outermost: string): Promise<ReadonlyMap<string, BatchKey>> {
  const rows = await transaction
    .selectFrom('run_batch')
    .select(['run', 'activity', 'attempt', 'place'])
    .where('outermost', '=', outermost)
    .orderBy('began_at')
    .orderBy('run')
    .orderBy('activity')
    .orderBy('attempt')
    .execute();
  return new Map(rows.map(({ place, ...key }) => [place, key]));
}

/** What the repeated run had taken itself, for batches that did not begin there. Answers how many items. */
async function takeUnbegun(
  transaction: Transaction<Tables>,
  { from, by }: { readonly from: string; readonly by: string },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`update run_repeated_item set run = ${by} where run = ${from}
    and place not in (select place from run_batch where outermost = ${from})`.execute(transaction);
  return Number(numAffectedRows);
}

async function othersOf(transaction: Transaction<Tables>, outermost: string): Promise<readonly string[]> {
  const rows = await sql<{ readonly taken_by: string }>`select distinct taken_by from run_batch_item as item
    join run_batch as batch on item.run = batch.run and item.activity = batch.activity and item.attempt = batch.attempt
    where batch.outermost = ${outermost} and taken_by is not null limit 10`.execute(transaction);
  return rows.rows.map(({ taken_by: run }) => run);
}

/** The items that the outermost run took for a batch. Undefined: no run before had this batch. */
export async function repeatedItemsOf(
  { database: { read } }: Pick<RunStoreContext, 'database'>,
  batch: Pick<NewBatch, 'reference' | 'run' | 'turn'>,
): Promise<NewBatch['items'] | undefined> {
  const run = outermostOf(batch.run);
  const place = placeOfBatch(batch);
  const known = await read
    .selectFrom('run_repeated_place')
    .select('place')
    .where('run', '=', run)
    .where('place', '=', place)
    .executeTakeFirst();
  if (known === undefined) return undefined;
  const rows = await read
    .selectFrom('run_repeated_item')
    .select(['item', 'value'])
    .where('run', '=', run)
    .where('place', '=', place)
    .orderBy('item')
    .execute();
  return rows.map(({ item, value }) => ({ index: item, value }));
}

/** What a repetition has to know of the batches of an outermost run. */
export interface BatchesLeft {
  /** Items that have begun and have not ended, apart from undecided ones. */
  readonly open: number;
  readonly unknown: number;
  /** The tasks of its batches: the workflow of the document, and the place in it. */
  readonly tasks: readonly { readonly workflow: string; readonly reference: string }[];
}

export async function batchesLeft({ database: { read } }: RunStoreContext, outermost: string): Promise<BatchesLeft> {
  const rows = await read
    .selectFrom('run_batch')
    .innerJoin('run', 'run.id', 'run_batch.run')
    .select(['run.workflow', 'run_batch.reference'])
    .select([sumOf('open').as('open'), sumOf('unknown').as('unknown')])
    .where('run_batch.outermost', '=', outermost)
    .groupBy(['run.workflow', 'run_batch.reference'])
    .execute();
  return {
    open: rows.reduce((sum, row) => sum + row.open, 0),
    unknown: rows.reduce((sum, row) => sum + row.unknown, 0),
    tasks: rows.map(({ workflow, reference }) => ({ workflow, reference })),
  };
}

function sumOf(count: 'open' | 'unknown') {
  return sql<number>`cast(sum(${sql.ref(`run_batch.${count}`)}) as bigint)`;
}
