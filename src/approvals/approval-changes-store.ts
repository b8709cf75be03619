import { type SqlBool, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import type { RunsChange } from '#runs/run-changes.ts';
import { digestOf } from '#runs/run-row.ts';
import type { Approval, ApprovalFacts, ApprovalStatus } from './approval.ts';
import { approvalEvent } from './approval-events.ts';
import { type ApprovalRow, approvalOf, factColumns, factsText, idOfUse } from './approval-row.ts';
import { digestOfTerms } from './approval-subject.ts';

export interface NewApproval {
  readonly id: string;
  readonly subject: string;
  readonly facts: ApprovalFacts;
  readonly body: Buffer | undefined;
  readonly expiresAt: number;
}

/** Throws where the approval may not be decided, and answers undefined where nothing changes. */
type Judge = (approval: Approval) => DecidedApproval | undefined;

/** What a decision changes. */
export interface DecidedApproval {
  readonly status: ApprovalStatus;
  readonly decisions: ApprovalFacts['decisions'];
  readonly event: 'granted' | 'rejected';
}

/** See `ApprovalStore.create`. `over`: approvals of the same subject whose time was over. */
export async function createIn(
  transaction: Transaction<Tables>,
  { id, subject, facts, body, expiresAt }: NewApproval,
  at: number,
): Promise<
  { readonly result: { readonly approval: Approval; readonly isNew: boolean; readonly over: readonly Approval[] } } & RunsChange
> {
  const rules = digestOfTerms(facts.rules);
  const row: ApprovalRow = {
    id,
    subject,
    rules,
    run: facts.task?.run ?? null,
    status: 'waiting',
    created_at: at,
    expires_at: expiresAt,
    changed_at: at,
    caller_digest: digestOf(facts.principal.id),
    facts: factsText(facts),
    body: body ?? null,
    preview: null,
    used_by: null,
    unannounced: 0,
  };
  // One that has expired makes room, although no gateway has put that on record yet.
  const isOfSubject = sql<SqlBool>`subject = ${subject} and rules = ${rules} and status in ('waiting', 'granted')`;
  const ended = await transaction
    .updateTable('approval')
    .set({ status: 'expired', changed_at: at })
    .where(isOfSubject)
    .where('expires_at', '<=', at)
    .returning(factColumns)
    .execute();
  const over = ended.map(approvalOf);
  const created = await transaction
    .insertInto('approval')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute();
  const found = await transaction.selectFrom('approval').selectAll().where(isOfSubject).executeTakeFirstOrThrow();
  const approval = approvalOf(found);
  const isNew = created.length > 0;
  const { events, commands } = expiry(over, at);
  const requested = isNew ? [approvalEvent('requested', approval, { at })] : [];
  return { result: { approval, isNew, over }, events: [...events, ...requested], commands };
}

/** See `ApprovalStore.use`. `now`: milliseconds since the epoch. */
export async function useIn(
  transaction: Transaction<Tables>,
  { id, by, now }: { readonly id: string; readonly by: string; readonly now: number },
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('approval')
    .set({ status: 'used', changed_at: now, used_by: by, unannounced: 1 })
    .where('id', '=', id)
    .where('status', '=', 'granted')
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** See `ApprovalStore.decide`. The row is locked until the end of the transaction. */
export async function decideIn(
  transaction: Transaction<Tables>,
  { id, judge, dialect, at }: Pick<Expiring, 'dialect'> & { readonly id: string; readonly judge: Judge; readonly at: number },
): Promise<{ readonly result: Approval | undefined } & RunsChange> {
  const locking = dialect === 'postgres' ? sql`for update` : sql``;
  const { rows } = await sql<ApprovalRow>`select * from approval where id = ${id} ${locking}`.execute(transaction);
  const [row] = rows;
  const approval = row && approvalOf(row);
  const decided = approval && judge(approval);
  if (approval === undefined || decided === undefined) return { result: approval };
  const { status, decisions, event } = decided;
  const after: Approval = { ...approval, status, decisions, changedAt: at };
  await transaction
    .updateTable('approval')
    .set({ status, changed_at: at, facts: factsText(after) })
    .where('id', '=', id)
    .execute();
  return {
    result: after,
    events: [approvalEvent(event, after, { at, key: `${event}/${decisions.length}` })],
    commands: status === 'waiting' ? [] : wakingOf([after]),
  };
}

/** See `ApprovalStore.release`. */
export async function releaseIn(
  transaction: Transaction<Tables>,
  { id, by, at }: { readonly id: string; readonly by: string; readonly at: number },
): Promise<{ readonly result: undefined } & RunsChange> {
  const rows = await transaction
    .updateTable('approval')
    .set({ status: 'granted', changed_at: at, used_by: null, unannounced: 0 })
    .where('id', '=', id)
    .where('status', '=', 'used')
    .where('used_by', '=', by)
    .returning(factColumns)
    .execute();
  return {
    result: undefined,
    events: rows.map((row) => approvalEvent('granted', approvalOf(row), { at, key: `granted/${idOfUse(by)}` })),
  };
}

/** See `ApprovalStore.announce`. */
export async function announceIn(
  transaction: Transaction<Tables>,
  ids: readonly string[],
): Promise<{ readonly result: undefined } & RunsChange> {
  if (ids.length === 0) return { result: undefined };
  const rows = await transaction
    .updateTable('approval')
    .set({ unannounced: 0 })
    .where('id', 'in', ids)
    .where('unannounced', '=', 1)
    .returning(factColumns)
    .execute();
  const events = rows.map((row) =>
    approvalEvent('used', approvalOf(row), { at: row.changed_at, key: `used/${idOfUse(row.used_by ?? '')}` }),
  );
  return { result: undefined, events };
}

interface Expiring {
  readonly which: { readonly subject: string } | { readonly limit: number };
  readonly dialect: Database['dialect'];
  readonly now: number;
}

/** See `ApprovalStore.expire`. */
export async function expireIn(
  transaction: Transaction<Tables>,
  { which, dialect, now }: Expiring,
): Promise<{ readonly result: readonly Approval[] } & RunsChange> {
  // One that people decide about at this moment is left to the next round.
  const locking = dialect === 'sqlite' ? sql`` : 'limit' in which ? sql`for update skip locked` : sql`for update`;
  const ended = sql`exists (select 1 from run where run.id = approval.run and run.ended_at is not null)`;
  const over =
    'subject' in which ? sql`subject = ${which.subject}` : sql`(expires_at <= ${now} or (approval.run is not null and ${ended}))`;
  const limit = 'limit' in which ? which.limit : 20;
  const { rows } = await sql<ApprovalRow>`update approval set status = 'expired', changed_at = ${now}
    where id in (select id from approval where status in ('waiting', 'granted') and ${over} order by id limit ${limit} ${locking})
    returning ${sql.join(factColumns.map((column) => sql.ref(column)))}`.execute(transaction);
  const approvals = rows.map(approvalOf);
  return { result: approvals, ...expiry(approvals, now) };
}

function expiry(approvals: readonly Approval[], at: number): Required<Pick<RunsChange, 'events' | 'commands'>> {
  return { events: approvals.map((approval) => approvalEvent('expired', approval, { at })), commands: wakingOf(approvals) };
}

/** Commands to the runs that wait for the approvals. */
function wakingOf(approvals: readonly Approval[]): NonNullable<RunsChange['commands']> {
  return approvals.flatMap(({ task }) =>
    task === undefined ? [] : [{ run: task.run, command: { kind: 'approval-decided' as const } }],
  );
}
