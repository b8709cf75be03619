import { sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { TaskParts } from '../journal/run-records.ts';
import { digestOf } from '../journal/run-row.ts';

export async function readTaskParts({ read }: Pick<Database, 'read'>, run: string, activity: number): Promise<TaskParts> {
  const row = await read
    .selectFrom('run_task')
    .select(['input', 'arguments', 'output'])
    .where('run', '=', run)
    .where('activity', '=', activity)
    .executeTakeFirst();
  const { input, arguments: args, output } = row ?? { input: null, arguments: null, output: null };
  return { ...(input !== null && { input }), ...(args !== null && { arguments: args }), ...(output !== null && { output }) };
}

/** Runs of one transaction. */
const runsAtOnce = 200;

/** See `RunStore.dropTaskData`. An ended run has no claim, and no write of a holder changes its rows. */
export async function dropTaskData(database: Database, principals: readonly string[], bytes: number): Promise<number> {
  let freed = 0;
  for (let dropped = 1; dropped > 0 && freed < bytes; freed += dropped)
    dropped = await dropSome(database, principals, bytes - freed);
  return freed;
}

async function dropSome({ dialect, records }: Database, principals: readonly string[], bytes: number): Promise<number> {
  return await records.transaction().execute(async (transaction) => {
    // Another gateway may drop, or delete old runs, at the same time.
    const locking = dialect === 'postgres' ? sql`for update skip locked` : sql``;
    const own = isOneOf(dialect, 'principal_digest', principals.map(digestOf));
    const { rows } = await sql<{ readonly id: string; readonly data_bytes: number }>`select id, data_bytes from run
      where ${own} and ended_at is not null and data_bytes > 0 order by ended_at, id limit ${runsAtOnce} ${locking}`.execute(
      transaction,
    );
    const chosen: typeof rows = [];
    let freed = 0;
    for (const row of rows) {
      if (freed >= bytes) break;
      freed += row.data_bytes;
      chosen.push(row);
    }
    if (chosen.length === 0) return 0;
    const given = jsonRows(
      dialect,
      { id: 'text' },
      chosen.map(({ id }) => [id]),
    );
    await sql`update run_task set input = null, arguments = null, output = null where run in (select id from ${given})`.execute(
      transaction,
    );
    await sql`update run set bytes = bytes - data_bytes, data_bytes = 0 where id in (select id from ${given})`.execute(
      transaction,
    );
    return freed;
  });
}
