import { type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { LoggedEvent } from '../events/event-store.ts';
import type { ParentCall } from '../run-parent.ts';
import type { StoredRunSummary } from '../run-queries.ts';
import type { NewEvent, RunWrite } from '../run-records.ts';
import { summaryColumns, summaryOf } from '../run-row.ts';
import type { RunStoreContext } from '../run-store-context.ts';
import type { BatchWrite, NewBatch } from './batch-records.ts';
import { callColumns, changeItems, type ItemChange, type ItemCount, idOfCall, type MovedItem } from './item-store.ts';
import { outermostOf, placeOfBatch } from './repetition-store.ts';

type Dialect = RunStoreContext['database']['dialect'];

const counts = ['open', 'completed', 'failed', 'unknown', 'cancelled', 'not_started'] as const satisfies readonly ItemCount[];

/** `wasUndecided`: in the store before the step. */
type BatchStep = Pick<RunWrite, 'run' | 'batches' | 'item'> & { readonly wasUndecided: boolean };

/**
 * What steps of runs change of batches and their items. Rows are locked in one order by every transaction, after those of claims: items first,
 * then their batches. Answers the events that tell of the batches.
 */
export async function writeBatches(
  { database: { dialect }, clock }: RunStoreContext,
  transaction: Transaction<Tables>,
  steps: readonly BatchStep[],
): Promise<readonly LoggedEvent[]> {
  const at = clock.now();
  const batches = steps.flatMap((step) => step.batches ?? []);
  for (const { begins } of batches) if (begins !== undefined) await insertBatch(dialect, transaction, { begins, at });
  const begun = batches.flatMap(({ run, activity, attempt, starts = [] }) =>
    starts.map(({ index, child }): ItemChange => ({ run, activity, attempt, index, child, runStatus: 'pending' })),
  );
  const reported = steps.flatMap(({ item, wasUndecided }): readonly ItemChange[] => {
    if (item === undefined) return [];
    const { isUndecided, ...change } = item;
    return [{ ...change, undecided: Number(isUndecided) - Number(wasUndecided) }];
  });
  const moved = await changeItems(dialect, transaction, [...begun, ...reported]);
  const told = await updateBatches(dialect, transaction, { changed: changedBatches(batches, moved), at });
  return await eventsOf(transaction, told, at);
}

async function eventsOf(
  transaction: Transaction<Tables>,
  told: readonly ToldBatch[],
  at: number,
): Promise<readonly LoggedEvent[]> {
  if (told.length === 0) return [];
  const ids = told.map(({ row }) => row.run);
  const rows = await transaction.selectFrom('run').select(summaryColumns).where('id', 'in', ids).execute();
  const runs = new Map(rows.map((row) => [row.id, summaryOf(row)]));
  return told.flatMap((batch) => {
    const run = runs.get(batch.row.run);
    return run ? [{ run: run.id, automation: run.automation?.id ?? null, event: batchEvent(batch, run, at) }] : [];
  });
}

/** Does nothing where the batch has begun. */
async function insertBatch(
  dialect: Dialect,
  transaction: Transaction<Tables>,
  { begins, at }: { readonly begins: NewBatch; readonly at: number },
): Promise<void> {
  const { run, activity, attempt, items, turn, digest, stopAfter, ...rest } = begins;
  const total = items.length;
  const none = { open: 0, completed: 0, failed: 0, unknown: 0, cancelled: 0, not_started: total };
  const later = { last_item: -1, undecided_at: null, ended_at: null };
  const given = { digest: digest ?? null, stop_after: stopAfter ?? null, turn: JSON.stringify(turn) };
  const found = { outermost: outermostOf(run), place: placeOfBatch(begins) };
  const inserted = await transaction
    .insertInto('run_batch')
    .values({ run, activity, attempt, ...rest, ...given, ...found, state: 'running', total, ...none, ...later, began_at: at })
    .onConflict((conflict) => conflict.columns(['run', 'activity', 'attempt']).doNothing())
    .returning('run')
    .execute();
  if (inserted.length === 0 || total === 0) return;
  const rows = items.map(({ index, value }) => [index, value]);
  await sql`insert into run_batch_item (run, activity, attempt, item, value, status, undecided, is_cut)
    select cast(${run} as text), cast(${activity} as bigint), cast(${attempt} as bigint), item, value, 'notStarted', 0, 0
    from ${jsonRows(dialect, { item: 'bigint', value: 'text' }, rows)}`.execute(transaction);
}

interface ChangedBatch {
  readonly write: Omit<BatchWrite, 'begins' | 'starts'>;
  readonly added: ReadonlyMap<ItemCount, number>;
  readonly lastItem: number;
}

/** The batches whose row changes. */
function changedBatches(batches: readonly BatchWrite[], moved: readonly MovedItem[]): readonly ChangedBatch[] {
  const writes = Map.groupBy(batches, (write) => idOfCall(write));
  const moves = Map.groupBy(moved, (move) => idOfCall(move));
  const changed: ChangedBatch[] = [];
  for (const id of new Set([...writes.keys(), ...moves.keys()])) {
    const ofBatch = moves.get(id) ?? [];
    const write = writes.get(id)?.reduce((before, after) => ({ ...before, ...after })) ?? callOf(ofBatch);
    const added = addedBy(ofBatch);
    const lastItem = Math.max(-1, ...ofBatch.filter(({ from }) => from === 'not_started').map(({ index }) => index));
    const isMoved = [...added.values()].some((by) => by !== 0);
    if (write !== undefined && (isMoved || writes.has(id))) changed.push({ write, added, lastItem });
  }
  return changed;
}

function addedBy(moved: readonly MovedItem[]): ReadonlyMap<ItemCount, number> {
  const added = new Map<ItemCount, number>();
  for (const { from, to } of moved) {
    added.set(from, (added.get(from) ?? 0) - 1);
    added.set(to, (added.get(to) ?? 0) + 1);
  }
  return added;
}

function callOf([first]: readonly MovedItem[]): ParentCall | undefined {
  return first && { run: first.run, activity: first.activity, attempt: first.attempt };
}

/** A batch that was cancelled has ended once none of its items is open. Answers the batches of which an event tells now. */
async function updateBatches(
  dialect: Dialect,
  transaction: Transaction<Tables>,
  { changed, at }: { readonly changed: readonly ChangedBatch[]; readonly at: number },
): Promise<readonly ToldBatch[]> {
  if (changed.length === 0) return [];
  const before = await lockBatches(dialect, transaction, changed);
  const rows = changed.map(({ write, added, lastItem }) => {
    const { run, activity, attempt, state, undecidedAt, endedAt, parallel } = write;
    const given = [state ?? null, undecidedAt ?? null, endedAt ?? null, parallel ?? null, lastItem];
    return [run, activity, attempt, ...given, ...counts.map((count) => added.get(count) ?? 0)];
  });
  const states = { state: 'text', undecided_at: 'bigint', ended_at: 'bigint', parallel: 'bigint', last_item: 'bigint' } as const;
  const ofCounts = { open: 'bigint', completed: 'bigint', failed: 'bigint' } as const;
  const others = { unknown: 'bigint', cancelled: 'bigint', not_started: 'bigint' } as const;
  const given = jsonRows(dialect, { ...callColumns, ...states, ...ofCounts, ...others }, rows);
  const sums = sql.join(counts.map((count) => sql`${sql.ref(count)} = known.${sql.ref(count)} + given.${sql.ref(count)}`));
  const isOver = sql`coalesce(given.state, known.state) = 'cancelled' and known.open + given.open = 0`;
  await sql`update run_batch as known set
      state = case when known.ended_at is null then coalesce(given.state, known.state) else known.state end, parallel = coalesce(given.parallel, known.parallel),
      undecided_at = coalesce(known.undecided_at, given.undecided_at),
      ended_at = coalesce(known.ended_at, given.ended_at, case when ${isOver} then cast(${at} as bigint) end),
      last_item = case when given.last_item > known.last_item then given.last_item else known.last_item end, ${sums}
    from ${given} where known.run = given.run and known.activity = given.activity and known.attempt = given.attempt`.execute(
    transaction,
  );
  return await toldOf(dialect, transaction, { before, changed });
}

type BatchRow = Tables['run_batch'];

/** A batch ends once, and one event tells people that it waits for them. */
async function toldOf(
  dialect: Dialect,
  transaction: Transaction<Tables>,
  { before, changed }: { readonly before: readonly BatchRow[]; readonly changed: readonly ChangedBatch[] },
): Promise<readonly ToldBatch[]> {
  const writes = new Map(changed.map(({ write }) => [idOfCall(write), write]));
  const may = before.filter((row) => {
    const { state, undecidedAt, endedAt } = writes.get(idOfCall(row)) ?? {};
    if (row.ended_at !== null) return false;
    return (
      endedAt !== undefined || (state ?? row.state) === 'cancelled' || (undecidedAt !== undefined && row.undecided_at === null)
    );
  });
  if (may.length === 0) return [];
  const after = await sql<BatchRow>`select * from run_batch where ${isOneOfCalls(dialect, may)}`.execute(transaction);
  const earlier = new Map(may.map((row) => [idOfCall(row), row]));
  return after.rows.flatMap((row): readonly ToldBatch[] => {
    if (row.ended_at !== null) return [{ row, kind: 'ended' }];
    return row.undecided_at !== (earlier.get(idOfCall(row))?.undecided_at ?? null) ? [{ row, kind: 'undecided' }] : [];
  });
}

function isOneOfCalls(dialect: Dialect, calls: readonly ParentCall[]): RawBuilder<SqlBool> {
  const rows = calls.map(({ run, activity, attempt }) => [run, activity, attempt]);
  return sql<SqlBool>`(run, activity, attempt) in (select run, activity, attempt from ${jsonRows(dialect, callColumns, rows)})`;
}

async function lockBatches(
  dialect: Dialect,
  transaction: Transaction<Tables>,
  changed: readonly ChangedBatch[],
): Promise<readonly BatchRow[]> {
  const calls = changed.map(({ write }) => write);
  const locking = dialect === 'postgres' ? sql`order by run, activity, attempt for update` : sql``;
  const found = await sql<BatchRow>`select * from run_batch where ${isOneOfCalls(dialect, calls)} ${locking}`.execute(
    transaction,
  );
  return found.rows;
}

/** A batch of which an event tells. `undecided`: it waits for their decisions alone. */
interface ToldBatch {
  readonly row: Tables['run_batch'];
  readonly kind: 'undecided' | 'ended';
}

/** A CloudEvent 1.0. Its id is made of the batch and the kind, so that each has one event. `run`: the one that has the batch. */
function batchEvent({ row, kind }: ToldBatch, { automation, workflow }: StoredRunSummary, at: number): NewEvent {
  const { run, activity, attempt, reference: task, state, total, completed, failed, unknown, cancelled } = row;
  const named = automation && { automation: { _id: automation.id, name: automation.name } };
  const counts = { total, completed, failed, unknown, cancelled, notStarted: row.not_started };
  const event = {
    specversion: '1.0',
    id: `${activity}.${attempt}.${kind}`,
    source: `/runs/${run}`,
    type: `orchestration-gateway.batch.${kind}.v1`,
    time: new Date(at).toISOString(),
    subject: run,
    datacontenttype: 'application/json',
    data: { run, ...named, workflow, task, id: String(activity), ...(kind === 'ended' && { status: state }), ...counts },
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}
