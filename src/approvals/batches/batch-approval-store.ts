import { type SqlBool, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { mayActOn } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { RunsChange } from '#runs/journal/run-changes.ts';

/** A task that waits for the approval of its batch. */
export interface Waiter {
  readonly run: string;
  readonly activity: number;
}

export async function addWaiter(transaction: Transaction<Tables>, waiter: Waiter & { readonly approval: string }): Promise<void> {
  await transaction
    .insertInto('approval_waiter')
    .values({ approval: waiter.approval, run: waiter.run, activity: waiter.activity })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function waitersOf(transaction: Transaction<Tables>, approvals: readonly string[]): Promise<readonly Waiter[]> {
  if (approvals.length === 0) return [];
  return await transaction.selectFrom('approval_waiter').select(['run', 'activity']).where('approval', 'in', approvals).execute();
}

/** The batch of the approval has ended. */
export const batchEnded = sql<SqlBool>`(batch is not null and exists (select 1 from run_batch where run_batch.run = approval.run
  and cast(run_batch.activity as text) || '.' || cast(run_batch.attempt as text) = approval.batch and run_batch.ended_at is not null))`;

/** Of a use: the approval, the item, the digest of task and turn (`placeOfUse`), and the id of the use. */
export interface BatchUse {
  readonly approval: string;
  readonly item: number;
  readonly place: string;
  readonly use: string;
}

/** False where the approval is not granted any more, or this item had a use at this place. `text`: see `textOfUse`. */
export async function useForItemIn(
  transaction: Transaction<Tables>,
  {
    use: { approval, item, place },
    text,
    now,
    dialect,
  }: { readonly use: BatchUse; readonly text: string; readonly now: number; readonly dialect: Database['dialect'] },
): Promise<boolean> {
  const granted = transaction
    .selectFrom('approval')
    .select('id')
    .where('id', '=', approval)
    .where('status', '=', 'granted')
    .where(mayActOn('approval'))
    .where(sql<SqlBool>`coalesce(holds_until, expires_at) > ${now}`);
  const there = await (dialect === 'postgres' ? granted.forShare() : granted).executeTakeFirst();
  if (there === undefined) return false;
  const { numInsertedOrUpdatedRows } = await transaction
    .insertInto('approval_use')
    .values({ approval, item, place, use: text })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** The call of this use sent nothing. */
export async function releaseItemIn(transaction: Transaction<Tables>, { approval, item, place, use }: BatchUse): Promise<void> {
  await transaction
    .deleteFrom('approval_use')
    .where('approval', '=', approval)
    .where('item', '=', item)
    .where('place', '=', place)
    .where(sql<SqlBool>`(use = ${use} or use like ${`${use} %`})`)
    .execute();
}

/** In place of the use of one call. */
const useOfBatch = 'batch';

/** Ends these, which were used. */
export async function markUsedIn(
  transaction: Transaction<Tables>,
  approvals: readonly { readonly id: string }[],
  at: number,
): Promise<void> {
  if (approvals.length === 0) return;
  await transaction
    .updateTable('approval')
    .set({ status: 'used', used_by: useOfBatch, changed_at: at, unannounced: 1, unrecorded: sql<number>`unrecorded + 1` })
    .where(
      'id',
      'in',
      approvals.map(({ id }) => id),
    )
    .execute();
}

/** Ends approvals of batches that were used and are over: their batch has ended, or their day. Answers how many. */
export async function endUsedIn(
  transaction: Transaction<Tables>,
  { at, limit, dialect }: { readonly at: number; readonly limit: number; readonly dialect: Database['dialect'] },
): Promise<{ readonly result: readonly string[] } & RunsChange> {
  const locking = dialect === 'sqlite' ? sql`` : sql`for update skip locked`;
  const ended = sql`exists (select 1 from run where run.id = approval.run and run.ended_at is not null)`;
  const { rows } = await sql<{ readonly id: string }>`update approval
    set status = 'used', used_by = ${useOfBatch}, changed_at = ${at}, unannounced = 1, unrecorded = unrecorded + 1
    where id in (select id from approval where ${mayActOn('approval')} and holds_until is not null and status in ('waiting', 'granted')
      and (holds_until <= ${at} or ${ended} or ${batchEnded}) order by id limit ${limit} ${locking})
    returning id`.execute(transaction);
  return { result: rows.map(({ id }) => id) };
}
