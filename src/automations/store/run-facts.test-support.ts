import type { Database } from '#database/database.ts';
import { keyOfTime } from './automation-row.ts';
import { exactKey } from './sort-key.ts';

/** What a schedule writes: a timestamp, null where there is none any more, undefined to leave a field. */
export interface NotedFacts {
  readonly lastRunAt?: string | null | undefined;
  readonly nextRunAt?: string | null | undefined;
}

/** Writes facts as the schedule does. False where there is no such automation. */
export async function noteRun({ query }: Database, id: string, { lastRunAt, nextRunAt }: NotedFacts): Promise<boolean> {
  const row = await query
    .updateTable('automation')
    .set({
      name: (expression) => expression.ref('name'),
      ...(lastRunAt !== undefined && { last_run_at_key: keyOfTime(lastRunAt) }),
      ...(nextRunAt !== undefined && { next_run_at_key: keyOfTime(nextRunAt) }),
    })
    .where('id', '=', exactKey(id))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
