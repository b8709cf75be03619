import { type SqlBool, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { everyVersion, mayActOn, needsNewer, refuseNewerRow } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { RunsChange } from '#runs/journal/run-changes.ts';
import { digestOf } from '#runs/journal/run-row.ts';
import type { Approval, ApprovalDecision, ApprovalFacts, ApprovalStatus } from './approval.ts';
import { type ApprovalEvent, approvalEvent } from './approval-events.ts';
import { approvalText, digestOfBody, type ProofKey, proofOf } from './approval-proof.ts';
import { type ApprovalRow, approvalOf, factColumns, factsText, idOfUse } from './approval-row.ts';
import { digestOfTerms } from './approval-subject.ts';
import { addWaiter, batchEnded, markUsedIn, type Waiter, waitersOf } from './batches/batch-approval-store.ts';

export interface NewApproval {
  readonly id: string;
  readonly subject: string;
  readonly facts: Omit<ApprovalFacts, 'proof' | 'bodyDigest' | 'decisions'>;
  readonly body: Buffer | undefined;
  readonly expiresAt: number;
  /** For a batch: the task that asks, and waits for the approval. */
  readonly waiter?: Waiter | undefined;
}

/** Throws where the approval may not be decided, and answers undefined where nothing changes. */
export type Judge = (approval: Approval) => DecidedApproval | undefined;

/** What a decision changes. */
export interface DecidedApproval {
  readonly status: ApprovalStatus;
  readonly decisions: ApprovalFacts['decisions'];
  readonly events: readonly { readonly kind: ApprovalEvent; readonly key: string }[];
}

interface Changing {
  readonly transaction: Transaction<Tables>;
  readonly key: ProofKey;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const onceMore = sql<number>`unrecorded + 1`;

/** See `ApprovalStore.create`. `over`: approvals of the same subject whose time was over, or whose proof is not of this key. */
export async function createIn(
  { transaction, key, at }: Changing,
  made: NewApproval,
  dialect: Database['dialect'],
): Promise<
  { readonly result: { readonly approval: Approval; readonly isNew: boolean; readonly over: readonly Approval[] } } & RunsChange
> {
  const row = rowOf(made, { key, at });
  const { subject, rules } = row;
  const isOfSubject = sql<SqlBool>`subject = ${subject} and rules = ${rules} and status in ('waiting', 'granted')`;
  const there = await transaction.selectFrom('approval').select(factColumns).where(isOfSubject).execute();
  // One that has expired makes room, although no gateway has put that on record yet.
  const past = there
    .filter((one) => !needsNewer(one.lowest))
    .filter((one) => (one.holds_until ?? one.expires_at) <= at || approvalOf(one, key).isVoid);
  const wasUsed = (one: (typeof past)[number]): boolean => one.holds_until !== null;
  await markUsedIn(transaction, past.filter(wasUsed), at);
  const unused = past.filter((one) => !wasUsed(one)).map(({ id }) => id);
  const over = await endAll({ transaction, key, at }, unused);
  const created = await transaction
    .insertInto('approval')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute();
  const asked = transaction.selectFrom('approval').selectAll().where(isOfSubject);
  const { waiter } = made;
  // Who decides at this moment sees the waiter, or the waiter sees the decision.
  const found = await (waiter !== undefined && dialect === 'postgres' ? asked.forUpdate() : asked).executeTakeFirstOrThrow();
  if (waiter !== undefined) await addWaiter(transaction, { approval: found.id, ...waiter });
  const approval = approvalOf(found, key);
  const isNew = created.length > 0;
  const { events, commands } = await expiry(transaction, over, at);
  const requested = isNew ? [approvalEvent('requested', approval, { at })] : [];
  return { result: { approval, isNew, over }, events: [...events, ...requested], commands };
}

function rowOf({ id, subject, facts, body, expiresAt }: NewApproval, { key, at }: Pick<Changing, 'key' | 'at'>): ApprovalRow {
  const asked = { ...facts, id, subject, bodyDigest: digestOfBody(body), createdAt: at, expiresAt };
  return {
    id,
    subject,
    rules: digestOfTerms(facts.rules),
    run: facts.batch?.run ?? facts.task?.run ?? null,
    status: 'waiting',
    created_at: at,
    expires_at: expiresAt,
    changed_at: at,
    caller_digest: digestOf(facts.principal.id),
    facts: factsText({ ...asked, proof: proofOf(approvalText(asked), key), decisions: [] }),
    body: body ?? null,
    preview: null,
    used_by: null,
    unannounced: 0,
    unrecorded: 1,
    batch: facts.batch === undefined ? null : `${facts.batch.activity}.${facts.batch.attempt}`,
    holds_until: null,
    lowest: everyVersion,
  };
}

async function endAll({ transaction, key, at }: Changing, ids: readonly string[] | 'all'): Promise<readonly Approval[]> {
  if (ids.length === 0) return [];
  const ending = transaction
    .updateTable('approval')
    .set({ status: 'expired', changed_at: at, unrecorded: onceMore })
    .where('status', 'in', ['waiting', 'granted']);
  // A loss of commits ends all, of a newer version too: people decide again about what may have happened.
  const some = ids === 'all' ? ending : ending.where('id', 'in', ids).where(mayActOn('approval'));
  const ended = await some.returning(factColumns).execute();
  return ended.map((row) => approvalOf(row, key));
}

/** See `ApprovalStore.use`. `now`: milliseconds since the epoch. `use`: see `textOfUse`. */
export async function useIn(
  transaction: Transaction<Tables>,
  { id, use, now, isUnrecorded }: UseOfApproval & { readonly now: number },
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('approval')
    .set({ status: 'used', changed_at: now, used_by: use, unannounced: 1, ...(isUnrecorded && { unrecorded: onceMore }) })
    .where('id', '=', id)
    .where('status', '=', 'granted')
    .where('expires_at', '>', now)
    .where(mayActOn('approval'))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export interface UseOfApproval {
  readonly id: string;
  readonly use: string;
  /** No intent has the use: the audit log gets it by itself. */
  readonly isUnrecorded: boolean;
}

/** See `ApprovalStore.decide`. The row is locked until the end of the transaction. Rejects with `newer-version-needed`. */
export async function decideIn(
  { transaction, key, at }: Changing,
  { id, judge, dialect }: Pick<Expiring, 'dialect'> & { readonly id: string; readonly judge: Judge },
): Promise<{ readonly result: Approval | undefined } & RunsChange> {
  const locking = dialect === 'postgres' ? sql`for update` : sql``;
  const { rows } = await sql<ApprovalRow>`select * from approval where id = ${id} ${locking}`.execute(transaction);
  const [row] = rows;
  refuseNewerRow('The approval', row?.lowest);
  const approval = row && approvalOf(row, key);
  const decided = approval && judge(approval);
  if (approval === undefined || decided === undefined) return { result: approval };
  const { status, decisions, events } = decided;
  const after: Approval = { ...approval, status, decisions, changedAt: at, unrecorded: approval.unrecorded + 1 };
  await transaction
    .updateTable('approval')
    .set({ status, changed_at: at, facts: factsText(after), unrecorded: after.unrecorded })
    .where('id', '=', id)
    .execute();
  return {
    result: after,
    events: events.map(({ kind, key: event }) => approvalEvent(kind, after, { at, key: event })),
    commands: await wakingOf(transaction, [after], decisions.at(-1)),
  };
}

/** See `ApprovalStore.release`. */
export async function releaseIn(
  { transaction, key, at }: Changing,
  { id, use }: { readonly id: string; readonly use: string },
): Promise<{ readonly result: undefined } & RunsChange> {
  const rows = await transaction
    .updateTable('approval')
    .set({ status: 'granted', changed_at: at, used_by: null, unannounced: 0 })
    .where('id', '=', id)
    .where('status', '=', 'used')
    .where(sql<SqlBool>`(used_by = ${use} or used_by like ${`${use} %`})`)
    .returning(factColumns)
    .execute();
  return {
    result: undefined,
    events: rows.map((row) => approvalEvent('granted', approvalOf(row, key), { at, key: `granted/${use}` })),
  };
}

/** See `ApprovalStore.announce`. */
export async function announceIn(
  { transaction, key }: Pick<Changing, 'transaction' | 'key'>,
  ids: readonly string[],
): Promise<{ readonly result: undefined } & RunsChange> {
  if (ids.length === 0) return { result: undefined };
  const rows = await transaction
    .updateTable('approval')
    .set({ unannounced: 0 })
    .where('id', 'in', ids)
    .where('unannounced', '=', 1)
    .where(mayActOn('approval'))
    .returning(factColumns)
    .execute();
  const events = rows.map((row) =>
    approvalEvent('used', approvalOf(row, key), { at: row.changed_at, key: `used/${idOfUse(row.used_by ?? '')}` }),
  );
  return { result: undefined, events };
}

interface Expiring {
  readonly which: { readonly subject: string } | { readonly ids: readonly string[] } | { readonly limit: number } | 'all';
  readonly dialect: Database['dialect'];
}

/** See `ApprovalStore.expire`. */
export async function expireIn(
  { transaction, key, at }: Changing,
  { which, dialect }: Expiring,
): Promise<{ readonly result: readonly Approval[] } & RunsChange> {
  if (which === 'all' || 'ids' in which) {
    const ended = await endAll({ transaction, key, at }, which === 'all' ? which : which.ids);
    return { result: ended, ...(await expiry(transaction, ended, at)) };
  }
  // One that people decide about at this moment is left to the next round.
  const locking = dialect === 'sqlite' ? sql`` : 'limit' in which ? sql`for update skip locked` : sql`for update`;
  const ended = sql`exists (select 1 from run where run.id = approval.run and run.ended_at is not null)`;
  const over =
    'subject' in which
      ? sql`subject = ${which.subject}`
      : sql`holds_until is null and (expires_at <= ${at} or (approval.run is not null and ${ended}) or ${batchEnded})`;
  const limit = 'limit' in which ? which.limit : 20;
  const { rows } = await sql<ApprovalRow>`update approval set status = 'expired', changed_at = ${at}, unrecorded = unrecorded + 1
    where id in (select id from approval where status in ('waiting', 'granted') and ${mayActOn('approval')}
      and ${over} order by id limit ${limit} ${locking})
    returning ${sql.join(factColumns.map((column) => sql.ref(column)))}`.execute(transaction);
  const approvals = rows.map((row) => approvalOf(row, key));
  return { result: approvals, ...(await expiry(transaction, approvals, at)) };
}

async function expiry(
  transaction: Transaction<Tables>,
  approvals: readonly Approval[],
  at: number,
): Promise<Required<Pick<RunsChange, 'events' | 'commands'>>> {
  const events = approvals.map((approval) => approvalEvent('expired', approval, { at }));
  return { events, commands: await wakingOf(transaction, approvals) };
}

/** Commands to the runs that wait for the approvals. `decided`: the timeline gets it. */
async function wakingOf(
  transaction: Transaction<Tables>,
  approvals: readonly Approval[],
  decided?: ApprovalDecision,
): Promise<NonNullable<RunsChange['commands']>> {
  const decision = decided && {
    as: decided.as,
    principal: decided.principal.username,
    at: decided.at,
    reason: decided.reason,
  };
  const waiters = approvals.flatMap(({ task, batch }) => (task === undefined || batch !== undefined ? [] : [task]));
  const ofBatches = approvals.filter(({ batch }) => batch !== undefined).map(({ id }) => id);
  return [...waiters, ...(await waitersOf(transaction, ofBatches))].map(({ run, activity }) => ({
    run,
    command: { kind: 'approval-decided' as const, ...(decision && { activity, decision }) },
  }));
}
