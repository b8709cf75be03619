import { sql } from 'kysely';
import { isOneOf } from '#database/json-rows.ts';
import type { RunStoreContext } from './run-store-context.ts';

export interface ForgetOptions {
  /**
   * Runs that ended before are deleted with all that belongs to them, and events of before that are of no run. Milliseconds since the epoch.
   */
  readonly before: number;
  /** Message events of before are deleted. A run's lifecycle events are deleted with it, its message events are not. */
  readonly messagesBefore: number;
  /** So many runs at most, and so many events. */
  readonly limit: number;
}

/** Answers how many runs and message events were deleted: 0 where none is left to delete. */
export async function forgetRuns(
  { database: { dialect, records } }: RunStoreContext,
  { before, messagesBefore, limit }: ForgetOptions,
): Promise<number> {
  const skipping = dialect === 'postgres' ? sql`for update skip locked` : sql``;
  const deletedRuns = await records.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ readonly id: string }>`select id from run where ended_at < ${before}
      order by ended_at limit ${limit} ${skipping}`.execute(transaction);
    if (rows.length === 0) return 0;
    const ids = rows.map(({ id }) => id);
    for (const table of ['run_task', 'run_text', 'run_state', 'run_value', 'run_command', 'run_claim'] as const) {
      await sql`delete from ${sql.table(table)} where ${isOneOf(dialect, 'run', ids)}`.execute(transaction);
    }
    await sql`delete from event_log where ${isOneOf(dialect, 'run', ids)} and kind = 'lifecycle'`.execute(transaction);
    await sql`delete from run where ${isOneOf(dialect, 'id', ids)}`.execute(transaction);
    return ids.length;
  });
  await sql`delete from event_log where number in
    (select number from event_log where kind = 'lifecycle' and run is null and at < ${before} order by at limit ${limit})`.execute(
    records,
  );
  const { numAffectedRows = 0n } = await sql`delete from event_log where number in
    (select number from event_log where kind = 'message' and at < ${messagesBefore} order by at limit ${limit})`.execute(records);
  return deletedRuns + Number(numAffectedRows);
}
