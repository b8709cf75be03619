import { sql, type Transaction } from 'kysely';
import { termOf } from '#audit/search/audit-terms.ts';
import type { Database } from '#database/database.ts';
import { isOneOf } from '#database/json-rows.ts';
import { mayActOn } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { RunStoreContext } from './run-store-context.ts';

export interface ForgetOptions {
  /**
   * Runs that ended before are deleted with all that belongs to them. Of a run with changes in the audit log, the
   * row, input, output and people stay as long as these records. So do those of the runs around it. Milliseconds since the epoch.
   */
  readonly before: number;
  /** Lifecycle events of before that are of no run are deleted. */
  readonly eventsBefore: number;
  /** Message events of before are deleted. A run's lifecycle events are deleted with it, its message events are not. */
  readonly messagesBefore: number;
  /** So many runs at most, and so many events. */
  readonly limit: number;
}

/** What a kept run does not need. */
const details = [
  'run_task',
  'run_state',
  'run_value',
  'run_command',
  'run_claim',
  'run_batch',
  'run_batch_item',
  'run_repeated_place',
  'run_repeated_item',
] as const;

const changeTerm = termOf.changeOf('');

interface OldRun {
  readonly id: string;
  readonly parent: string | null;
  /** The audit log has a change of it. */
  readonly changed: number | boolean;
}

/** Those with a change, and the runs around them. A run inside of one that is none of these is kept, or is looked at in the same moment elsewhere. */
async function withRunsAround(
  rows: readonly OldRun[],
  transaction: Transaction<Tables>,
  dialect: Database['dialect'],
): Promise<readonly string[]> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const ids = [...byId.keys()];
  const { rows: around } = await sql<{ readonly parent: string }>`select distinct parent from run
    where ${isOneOf(dialect, 'parent', ids)} and not ${isOneOf(dialect, 'id', ids)}`.execute(transaction);
  const kept = new Set(rows.filter(({ changed }) => Boolean(changed)).map(({ id }) => id));
  for (const { parent } of around) kept.add(parent);
  // A set takes what is added meanwhile.
  for (const id of kept) {
    const parent = byId.get(id)?.parent ?? undefined;
    if (parent !== undefined && byId.has(parent)) kept.add(parent);
  }
  return [...kept];
}

/** Answers how many runs and message events were deleted: 0 where none is left to delete. */
export async function forgetRuns(
  { database: { dialect, records } }: RunStoreContext,
  { before, eventsBefore, messagesBefore, limit }: ForgetOptions,
): Promise<number> {
  const skipping = dialect === 'postgres' ? sql`for update skip locked` : sql``;
  const deletedRuns = await records.transaction().execute(async (transaction) => {
    const { rows } = await sql<OldRun>`select id, parent,
      exists (select 1 from audit_term where term = ${changeTerm} || id) as changed from run
      where ended_at < ${before} and is_stripped = 0 and ${mayActOn('run')} order by ended_at limit ${limit} ${skipping}`.execute(
      transaction,
    );
    const changed = await withRunsAround(rows, transaction, dialect);
    // The oldest alone are looked at: the audit log deletes the oldest records first.
    const unrecorded = await sql<{ readonly id: string }>`select id from (select id from run where is_stripped = 1
      and ${mayActOn('run')} order by ended_at limit ${limit} ${skipping}) as oldest
      where not exists (select 1 from audit_term where term = ${changeTerm} || id)
      and not exists (select 1 from run as inside where inside.parent = oldest.id)`.execute(transaction);
    const ids = [...rows, ...unrecorded.rows].map(({ id }) => id);
    if (ids.length === 0) return 0;
    const forgotten = ids.filter((id) => !changed.includes(id));
    for (const table of details)
      await sql`delete from ${sql.table(table)} where ${isOneOf(dialect, 'run', ids)}`.execute(transaction);
    await sql`delete from event_log where ${isOneOf(dialect, 'run', ids)} and kind = 'lifecycle'`.execute(transaction);
    for (const table of ['run_text', 'run_person'] as const)
      await sql`delete from ${sql.table(table)} where ${isOneOf(dialect, 'run', forgotten)}`.execute(transaction);
    await sql`delete from run where ${isOneOf(dialect, 'id', forgotten)}`.execute(transaction);
    await sql`update run set is_stripped = 1, data_bytes = 0, bytes = length(facts) + (select length(input) + coalesce(length(output), 0)
      from run_text where run_text.run = run.id) where ${isOneOf(dialect, 'id', changed)}`.execute(transaction);
    return ids.length;
  });
  await sql`delete from event_log where number in
    (select number from event_log where kind = 'lifecycle' and run is null and at < ${Math.max(eventsBefore, 0)} order by at limit ${limit})`.execute(
    records,
  );
  const { numAffectedRows = 0n } = await sql`delete from event_log where number in
    (select number from event_log where kind = 'message' and at < ${messagesBefore} order by at limit ${limit})`.execute(records);
  return deletedRuns + Number(numAffectedRows);
}
