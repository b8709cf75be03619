import { sql } from 'kysely';
import type { RunStatus } from '../interpreter/state/run-state.ts';
import { standardError } from '../interpreter/task-error.ts';
import { valuesOf } from './run-claim-store.ts';
import type { RunCounts, RunFilter, RunPosition, StoredRunSummary } from './run-queries.ts';
import type { ClaimedRun, StoredRun, StoredTask, TaskRecord } from './run-records.ts';
import { digestOf, summaryColumns, summaryOf } from './run-row.ts';
import type { RunStoreContext } from './run-store-context.ts';
import { visibleRun } from './run-visibility-store.ts';

export async function readRun({ database: { read } }: RunStoreContext, id: string): Promise<StoredRun | undefined> {
  const row = await read
    .selectFrom('run')
    .innerJoin('run_text', 'run_text.run', 'run.id')
    .select([...summaryColumns, 'input', 'output'])
    .where('run.id', '=', id)
    .executeTakeFirst();
  return row && { ...summaryOf(row), input: row.input, output: row.output ?? undefined };
}

/** Without the texts that may be long. */
export async function readSummary({ database: { read } }: RunStoreContext, id: string): Promise<StoredRunSummary | undefined> {
  const row = await read.selectFrom('run').select(summaryColumns).where('id', '=', id).executeTakeFirst();
  return row && summaryOf(row);
}

/** The state with its values, of one moment; undefined where the run has not started, or has ended. */
export function readRunState({ database: { read, dialect } }: RunStoreContext, id: string): Promise<ClaimedRun['state']> {
  return read.transaction().execute(async (moment) => {
    const row = await moment.selectFrom('run_state').select('state').where('run', '=', id).executeTakeFirst();
    if (row === undefined) return undefined;
    const values = await valuesOf(moment, dialect, [id]);
    return { text: row.state, values: values.get(id) ?? new Map() };
  });
}

/** Bytes of an error in a list, and what a list has instead of a longer one. */
const maxListedSize = 65_536;
const unlisted = JSON.stringify({ ...standardError('runtime', 'The error is too long for a list'), instance: '' });

/** The newest first. */
export async function listRuns(
  context: RunStoreContext,
  filter: RunFilter,
  { limit, after }: { readonly limit: number; readonly after?: RunPosition | undefined },
): Promise<readonly StoredRunSummary[]> {
  const equal = {
    automation: filter.automation,
    workflow: filter.workflow,
    status: filter.status,
    parent: filter.parent,
    username_digest: filter.username === undefined ? undefined : digestOf(filter.username),
  };
  // Errors of runs of earlier versions have no limit.
  const error = sql<string | null>`case when octet_length(error) > ${maxListedSize} then ${unlisted} else error end`.as('error');
  let query = context.database.read.selectFrom('run').select([...summaryColumns.filter((column) => column !== 'error'), error]);
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) query = query.where(sql.ref(`run.${column}`), '=', value);
  }
  if (filter.parent === undefined && filter.children !== true) query = query.where('in_batch', 'is', null);
  if (filter.since !== undefined) query = query.where('created_at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('created_at', '<', filter.until);
  if (after !== undefined) query = query.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`);
  if (filter.visibleTo !== undefined) query = query.where(visibleRun(context, filter.visibleTo));
  const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  return rows.map(summaryOf);
}

/** In the order of their begin. `after`: the activity at the end of the page before. */
export async function listTasks(
  { database: { read } }: RunStoreContext,
  run: string,
  { limit, after = -1 }: { readonly limit: number; readonly after?: number | undefined },
): Promise<readonly StoredTask[]> {
  const rows = await read
    .selectFrom('run_task')
    .select(['facts', 'decisions', sql<number>`case when input is null then 0 else 1 end`.as('has_data')])
    .where('run', '=', run)
    .where('activity', '>', after)
    .orderBy('activity')
    .limit(limit)
    .execute();
  return rows.map(({ facts, decisions, has_data: hasData }) => ({
    ...(JSON.parse(facts) as TaskRecord),
    decisions: JSON.parse(`[${(decisions ?? '').slice(1)}]`) as StoredTask['decisions'],
    hasData: hasData === 1,
  }));
}

/** Ids of the runs that the run began and that have not ended. */
export async function openChildren({ database: { read } }: RunStoreContext, run: string): Promise<readonly string[]> {
  const rows = await read.selectFrom('run').select('id').where('parent', '=', run).where('ended_at', 'is', null).execute();
  return rows.map(({ id }) => id);
}

export async function countRuns({ database: { read }, now }: RunStoreContext): Promise<RunCounts> {
  const counted = await read
    .selectFrom('run_claim')
    .innerJoin('run', 'run.id', 'run_claim.run')
    .select(({ fn }) => ['status', fn.countAll<number>().as('runs')])
    .groupBy('status')
    .execute();
  const { rows } = await sql<{ readonly lateness: number | null }>`select ${now()} - min(due_at) as lateness from run_claim
    where due_at <= ${now()}`.execute(read);
  return {
    byStatus: new Map(counted.map(({ status, runs }) => [status as RunStatus, runs])),
    lateness: Math.max(0, rows[0]?.lateness ?? 0),
  };
}
