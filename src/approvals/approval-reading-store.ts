import { randomBytes } from 'node:crypto';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { mayActOn } from '#database/row-version.ts';
import { digestOf } from '#runs/journal/run-row.ts';
import { type Approval, type ApprovalStatus, isApprovalId, isOpen } from './approval.ts';
import type { ProofKey } from './approval-proof.ts';
import { approvalOf, factColumns } from './approval-row.ts';

/** Where a page of the list begins: after this approval. */
export type ApprovalPosition = Pick<Approval, 'createdAt' | 'id'>;

export interface ApprovalFilter {
  readonly status?: ApprovalStatus | undefined;
  readonly run?: string | undefined;
  /** Of the run that asks: `_id` or name. The reader of the list judges it. */
  readonly automation?: string | undefined;
}

interface ListOptions {
  readonly filter: ApprovalFilter;
  readonly page: { readonly limit: number; readonly after?: ApprovalPosition | undefined };
  readonly now: number;
}

/** What reading needs: the store, and the key by which approvals are proven. */
interface ReadingApprovals {
  readonly read: Database['read'];
  readonly key: ProofKey;
}

export async function readApproval({ read, key }: ReadingApprovals, id: string): Promise<Approval | undefined> {
  if (!isApprovalId(id)) return undefined;
  const row = await read.selectFrom('approval').selectAll().where('id', '=', id).executeTakeFirst();
  return row && approvalOf(row, key);
}

/** See `ApprovalStore.readFacts`. */
export async function readFacts({ read, key }: ReadingApprovals, id: string): Promise<Approval | undefined> {
  if (!isApprovalId(id)) return undefined;
  const row = await read.selectFrom('approval').select(factColumns).where('id', '=', id).executeTakeFirst();
  return row && approvalOf(row, key);
}

/** The newest first. */
export async function listApprovals(
  { read, key }: ReadingApprovals,
  { filter: { status, run }, page: { limit, after }, now }: ListOptions,
): Promise<readonly Approval[]> {
  let query = read.selectFrom('approval').select(factColumns);
  if (status === 'expired')
    query = query.where(
      sql<SqlBool>`(status = 'expired' or (status in ('waiting', 'granted') and holds_until is null and expires_at <= ${now}))`,
    );
  else if (status === 'used')
    query = query.where(sql<SqlBool>`(status = 'used' or (status in ('waiting', 'granted') and holds_until <= ${now}))`);
  else if (status !== undefined) query = query.where('status', '=', status);
  if (status !== undefined && isOpen(status)) query = query.where(sql<SqlBool>`coalesce(holds_until, expires_at) > ${now}`);
  if (run !== undefined) query = query.where('run', '=', run);
  if (after !== undefined) query = query.where(sql<SqlBool>`(created_at, id) < (${after.createdAt}, ${after.id})`);
  const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  return rows.map((row) => approvalOf(row, key));
}

/** The newest first. */
export async function approvalsOfSubject({ read, key }: ReadingApprovals, subject: string): Promise<readonly Approval[]> {
  const rows = await read
    .selectFrom('approval')
    .select(factColumns)
    .where('subject', '=', subject)
    .orderBy('created_at', 'desc')
    .limit(20)
    .execute();
  return rows.map((row) => approvalOf(row, key));
}

/** Open approvals that this version may act on, in the order of their ids, from the one after `after` on. */
export async function readOpenApprovals(
  { read, key }: ReadingApprovals,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly Approval[]> {
  const rows = await read
    .selectFrom('approval')
    .select(factColumns)
    .where('status', 'in', ['waiting', 'granted'])
    .where(mayActOn('approval'))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => approvalOf(row, key));
}

/** Approvals of which the audit log lacks a proof, although they changed before this time. */
export async function unrecordedApprovals(
  { read, key }: ReadingApprovals,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<readonly Approval[]> {
  const rows = await read
    .selectFrom('approval')
    .select(factColumns)
    .where('unrecorded', '>', 0)
    .where(mayActOn('approval'))
    .where('changed_at', '<', before)
    .limit(limit)
    .execute();
  return rows.map((row) => approvalOf(row, key));
}

/** `bytes`: of all that they hold. */
export interface OpenApprovals {
  readonly count: number;
  readonly bytes: number;
}

export function countOpen({ read }: Pick<ReadingApprovals, 'read'>, callers: readonly string[]): Promise<OpenApprovals> {
  return read
    .selectFrom('approval')
    .select([
      sql<number>`count(*)`.as('count'),
      sql<number>`cast(coalesce(sum(coalesce(octet_length(body), 0) + octet_length(facts)), 0) as bigint)`.as('bytes'),
    ])
    .where('caller_digest', 'in', callers.map(digestOf))
    .where('status', 'in', ['waiting', 'granted'])
    .executeTakeFirstOrThrow();
}

/** The first gateway that needs the key makes it. */
export async function hashKey({ records }: Database): Promise<Buffer> {
  await records
    .insertInto('approval_key')
    .values({ id: 1, secret: randomBytes(32) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { secret } = await records.selectFrom('approval_key').select('secret').where('id', '=', 1).executeTakeFirstOrThrow();
  return Buffer.from(secret);
}
