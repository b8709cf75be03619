import { type Kysely, sql, type Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';

const migrationNumber = 10;

/** When the store got its tables of schedules, in milliseconds since the epoch. */
export async function schedulesSince(records: Kysely<Tables>): Promise<number> {
  const { applied_at: since } = await records
    .selectFrom('schema_migration')
    .select('applied_at')
    .where('number', '=', migrationNumber)
    .executeTakeFirstOrThrow();
  return since;
}

/**
 * Locks the decisions about an automation until the transaction ends. Lock several in the order of their bytes. `open`: what the run does that
 * the schedule began last; undefined where it has ended.
 */
export async function lockSchedule(
  transaction: Transaction<Tables>,
  automation: Uint8Array,
): Promise<{ readonly open: 'running' | 'suspended' | undefined }> {
  const { run_id: last } = await transaction
    .insertInto('scheduled_run')
    .values({ automation_id: automation, run_id: null })
    .onConflict((conflict) => conflict.column('automation_id').doUpdateSet({ run_id: sql<string>`scheduled_run.run_id` }))
    .returning('run_id')
    .executeTakeFirstOrThrow();
  if (last === null) return { open: undefined };
  const open = await transaction
    .selectFrom('run')
    .select('status')
    .where('id', '=', last)
    .where('ended_at', 'is', null)
    .execute();
  const [run] = open;
  return { open: run && (run.status === 'suspended' ? 'suspended' : 'running') };
}

/** Records what was decided of a due time; `run` is the run that it begins. `startedAt`: when it began, also where it was decided before. */
export async function recordOccurrence(
  transaction: Transaction<Tables>,
  occurrence: {
    readonly automation: Uint8Array;
    readonly due: number;
    readonly run: string | undefined;
    readonly decidedAt: number;
  },
): Promise<{ readonly isNew: boolean; readonly startedAt: string | undefined }> {
  const { automation: automation_id, due, run = null, decidedAt: decided_at } = occurrence;
  const inserted = await transaction
    .insertInto('occurrence')
    .values({ automation_id, due, run_id: run, decided_at })
    .onConflict((conflict) => conflict.columns(['automation_id', 'due']).doNothing())
    .returning('due')
    .execute();
  if (inserted.length === 0) {
    const known = await transaction
      .selectFrom('occurrence')
      .select(['run_id', 'decided_at'])
      .where('automation_id', '=', automation_id)
      .where('due', '=', due)
      .executeTakeFirstOrThrow();
    return { isNew: false, startedAt: startOf(known) };
  }
  if (run !== null) {
    await transaction.updateTable('scheduled_run').set({ run_id: run }).where('automation_id', '=', automation_id).execute();
  }
  return { isNew: true, startedAt: startOf({ run_id: run, decided_at }) };
}

function startOf({ run_id: run, decided_at: at }: Pick<Tables['occurrence'], 'run_id' | 'decided_at'>): string | undefined {
  return run === null ? undefined : new Date(at).toISOString();
}

/** Deletes the oldest of the occurrences that were decided before a time, some `limit` of them. */
export async function forgetOccurrences(
  records: Kysely<Tables>,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<void> {
  const oldest = records.selectFrom('occurrence').select('decided_at').where('decided_at', '<', before).orderBy('decided_at');
  const last = (await oldest.limit(limit).execute()).at(-1);
  if (last !== undefined) await records.deleteFrom('occurrence').where('decided_at', '<=', last.decided_at).execute();
}
