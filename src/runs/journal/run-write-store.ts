import { sql, type Transaction } from 'kysely';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import { sizeOfParts } from '../task-data/task-data.ts';
import { writeBatches } from './batches/batch-store.ts';
import { appendEvents, lastMessage, lockMessages } from './events/event-store.ts';
import { type Changed, nothingChanged } from './run-changes.ts';
import { consumeCommands, insertCommands, wakeRuns } from './run-command-store.ts';
import { createRunsIn } from './run-creation-store.ts';
import { writePeople } from './run-people-store.ts';
import type { RunWrite } from './run-records.ts';
import { countEnds } from './run-statistics-store.ts';
import type { RunStoreContext } from './run-store-context.ts';
import { writeStates } from './run-value-store.ts';

export type WriteOutcome = 'saved' | 'lost';

/**
 * Writes steps of runs in the transaction, each of another run. A write whose fence is not that of the current claim is lost: nothing of it is
 * written. The others are.
 *
 * Locks are taken in one order by every transaction: that of messages, the rows of claims by run, that of event numbers.
 */
export async function writeSteps(
  context: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<{ readonly result: readonly WriteOutcome[] } & Changed> {
  const claims = await lockClaims(context, transaction, writes);
  const held = writes.filter(({ run, fence }) => {
    const claim = claims.get(run);
    return claim?.owner !== null && claim?.fence === fence;
  });
  const changed = held.length === 0 ? nothingChanged : await writeHeld(context, transaction, { held, claims });
  const saved = new Set(held);
  return { result: writes.map((write) => (saved.has(write) ? 'saved' : 'lost')), ...changed };
}

/** `has_values`: 1 where the store has long values of the run. */
type Claim = Pick<Tables['run_claim'], 'run' | 'owner' | 'fence' | 'deaths'> &
  Pick<Tables['run'], 'automation' | 'created_at' | 'parent' | 'status' | 'started_at' | 'suspended_by' | 'is_undecided'> & {
    readonly has_values: number;
  };

/** The claims of the runs, and of those that the writes command. A run that has ended has none. */
async function lockClaims(
  context: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<ReadonlyMap<string, Claim>> {
  const { dialect } = context.database;
  const sends = writes.some(({ events }) => events.some(({ kind }) => kind === 'message'));
  const listens = writes.some(({ release }) => release?.scanned !== undefined);
  if (sends || listens) await lockMessages(context, transaction, sends ? 'message' : 'release');
  const ids = new Set(writes.flatMap(({ run, commands }) => [run, ...commands.map((command) => command.run)]));
  const named = isOneOf(dialect, 'run_claim.run', [...ids]);
  const locking = dialect === 'postgres' ? sql`order by run_claim.run for update of run_claim` : sql``;
  const values = sql`case when exists (select 1 from run_value where run_value.run = run_claim.run) then 1 else 0 end`;
  const { rows } =
    await sql<Claim>`select run_claim.run, owner, fence, deaths, automation, parent, created_at, status, started_at, suspended_by,
      is_undecided, ${values} as has_values
    from run_claim join run on run.id = run_claim.run
    where ${sends ? sql`(${named} or listens = 1)` : named} ${locking}`.execute(transaction);
  return new Map(rows.map((row) => [row.run, row]));
}

interface HeldWrites {
  /** The writes that are not lost. */
  readonly held: readonly RunWrite[];
  readonly claims: ReadonlyMap<string, Claim>;
}

async function writeHeld(
  context: RunStoreContext,
  transaction: Transaction<Tables>,
  { held, claims }: HeldWrites,
): Promise<Changed> {
  const added = held.map((write) => ({ write, ...bytesOf(write) }));
  await writeRuns(
    context,
    transaction,
    added.filter(({ write, bytes }) => bytes > 0 || changesRun(write, claims.get(write.run))),
  );
  await countEnds(context, transaction, held, (run) => claims.get(run));
  await writeStates(context, transaction, held, (run) => claims.get(run)?.has_values === 1);
  await writeTasks(context, transaction, held);
  await writePeople(context, transaction, held);
  const batched = held.filter(({ batches = [], item }) => batches.length > 0 || item !== undefined);
  const told = await writeBatches(
    context,
    transaction,
    batched.map((write) => ({ ...write, wasUndecided: claims.get(write.run)?.is_undecided === 1 })),
  );
  const children = held.flatMap((write) => write.children);
  const created = (await createRunsIn(transaction, children, context)).map(({ id }) => id);
  await consumeCommands(
    context,
    transaction,
    held.flatMap(({ consumed }) => consumed),
  );
  const ended = new Set(held.filter(hasEnded).map(({ run }) => run));
  const isOpen = (run: string): boolean => (claims.has(run) || created.includes(run)) && !ended.has(run);
  const commands = held.flatMap((write) => write.commands).filter(({ run }) => isOpen(run));
  await insertCommands(context, transaction, commands);
  const commanded = commands.map(({ run }) => run);
  const due = await releaseRuns(context, transaction, held, claims);
  await wakeRuns(context, transaction, commanded);
  const events = held.flatMap(({ run, events: ofRun }) =>
    ofRun.map((event) => ({ run, automation: claims.get(run)?.automation ?? null, event })),
  );
  const all = [...events, ...told];
  await appendEvents(context, transaction, all);
  const messages = events.some(({ event }) => event.kind === 'message');
  return { runs: [...created, ...commanded, ...due], events: all.length > 0, messages };
}

function hasEnded({ endedAt }: RunWrite): boolean {
  return endedAt !== undefined;
}

/** A row that does not change is not written: it has many indexes. Its bytes are in none. */
function changesRun(write: RunWrite, claim: Claim | undefined): boolean {
  if (
    write.notStored !== undefined ||
    hasEnded(write) ||
    write.status !== claim?.status ||
    (write.item !== undefined && Number(write.item.isUndecided) !== claim.is_undecided) ||
    (write.startedAt ?? null) !== claim.started_at
  )
    return true;
  return (write.suspendedBy ?? null) !== claim.suspended_by;
}

async function writeRuns(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly ({ readonly write: RunWrite } & ReturnType<typeof bytesOf>)[],
): Promise<void> {
  if (writes.length === 0) return;
  const rows = writes.map(
    ({ write: { run, status, suspendedBy, startedAt, endedAt, error, notStored, item }, bytes, dataBytes }) => [
      run,
      status,
      suspendedBy ?? null,
      startedAt ?? null,
      endedAt ?? null,
      error === undefined ? null : JSON.stringify(error),
      notStored === undefined ? null : JSON.stringify(notStored),
      bytes,
      dataBytes,
      item === undefined ? null : Number(item.isUndecided),
    ],
  );
  const times = { started_at: 'bigint', ended_at: 'bigint' } as const;
  const columns = { id: 'text', status: 'text', suspended_by: 'text', ...times, error: 'text' } as const;
  const added = { not_stored: 'text', bytes: 'bigint', data_bytes: 'bigint', is_undecided: 'bigint' } as const;
  await sql`update run set status = given.status, suspended_by = given.suspended_by, started_at = given.started_at,
      ended_at = given.ended_at, error = given.error, not_stored = coalesce(given.not_stored, run.not_stored), bytes = run.bytes + given.bytes,
      data_bytes = run.data_bytes + given.data_bytes, is_undecided = coalesce(given.is_undecided, run.is_undecided)
    from ${jsonRows(dialect, { ...columns, ...added }, rows)} where run.id = given.id`.execute(transaction);
  const outputs = writes.flatMap(({ write: { run, output } }) => (output === undefined ? [] : [[run, output]]));
  if (outputs.length === 0) return;
  await sql`update run_text set output = given.output from ${jsonRows(dialect, { run: 'text', output: 'text' }, outputs)}
    where run_text.run = given.run`.execute(transaction);
}

/** What a write adds to its run. A task that is written again counts again, so the sum may be too high and never too low. */
function bytesOf({ tasks, events, output, data = [], decisions = [], batches = [], item }: RunWrite): {
  bytes: number;
  dataBytes: number;
} {
  const facts = [...tasks, ...decisions].map((each) => JSON.stringify(each));
  const items = [...batches.flatMap(({ begins }) => begins?.items ?? []).map(({ value }) => value), item?.output, item?.error];
  const texts = [...facts, ...events.map(({ event }) => event), output ?? '', ...items.map((text) => text ?? '')];
  const dataBytes = data.reduce((sum, parts) => sum + sizeOfParts(parts), 0);
  return { bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), dataBytes), dataBytes };
}

async function writeTasks(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<void> {
  // One row twice in a statement is an error on PostgreSQL: the later record of an activity counts.
  const rows = writes.flatMap(({ run, tasks, data = [] }) => {
    const parts = new Map(data.map((one) => [one.activity, one]));
    return [...new Map(tasks.map((task) => [task.activity, task])).values()].map((task) => {
      const { input = null, arguments: args = null, output = null } = parts.get(task.activity) ?? {};
      return [run, task.activity, JSON.stringify(task), input, args, output];
    });
  });
  if (rows.length > 0) {
    const texts = { facts: 'text', input: 'text', arguments: 'text', output: 'text' } as const;
    const columns = { run: 'text', activity: 'bigint', ...texts } as const;
    await sql`insert into run_task (run, activity, facts, input, arguments, output)
      select run, activity, facts, input, arguments, output from ${jsonRows(dialect, columns, rows)}
      where true on conflict (run, activity) do update set facts = excluded.facts, input = coalesce(excluded.input, run_task.input),
        arguments = coalesce(excluded.arguments, run_task.arguments), output = coalesce(excluded.output, run_task.output)`.execute(
      transaction,
    );
  }
  await writeDecisions(dialect, transaction, writes);
}

/** Puts them at the end of the decisions that the tasks have. */
async function writeDecisions(
  dialect: RunStoreContext['database']['dialect'],
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<void> {
  const added = new Map<string, [run: string, activity: number, text: string]>();
  for (const { run, decisions = [] } of writes)
    for (const { activity, decision } of decisions) {
      const key = JSON.stringify([run, activity]);
      added.set(key, [run, activity, `${added.get(key)?.[2] ?? ''},${JSON.stringify(decision)}`]);
    }
  if (added.size === 0) return;
  const columns = { run: 'text', activity: 'bigint', decisions: 'text' } as const;
  await sql`update run_task set decisions = coalesce(run_task.decisions, '') || given.decisions
    from ${jsonRows(dialect, columns, [...added.values()])}
    where run_task.run = given.run and run_task.activity = given.activity`.execute(transaction);
}

/** Lets go of runs, or notes that a holder goes on with them. Answers those that are due at once. */
async function releaseRuns(
  { database: { dialect }, now }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
  claims: HeldWrites['claims'],
): Promise<readonly string[]> {
  const ended = writes.filter(hasEnded).map(({ run }) => run);
  if (ended.length > 0) await sql`delete from run_claim where ${isOneOf(dialect, 'run', ended)}`.execute(transaction);
  const kept = writes
    .filter((write) => write.release === undefined && !hasEnded(write) && claims.get(write.run)?.deaths !== 0)
    .map(({ run }) => run);
  if (kept.length > 0) await sql`update run_claim set deaths = 0 where ${isOneOf(dialect, 'run', kept)}`.execute(transaction);
  const settled = writes.filter(({ isSettled }) => isSettled === true).map(({ run }) => run);
  if (settled.length > 0)
    await sql`update run_claim set loss = 0 where loss = 2 and ${isOneOf(dialect, 'run', settled)}`.execute(transaction);
  const rows = writes.flatMap(({ run, release, endedAt }) =>
    release === undefined || endedAt !== undefined
      ? []
      : [
          [
            run,
            release.wakeAt === undefined ? null : Math.ceil(release.wakeAt),
            Number(release.scanned !== undefined),
            release.scanned ?? 0,
          ],
        ],
  );
  if (rows.length === 0) return [];
  const columns = { run: 'text', wake_at: 'bigint', listens: 'bigint', scanned: 'bigint' } as const;
  const hasCommand = sql`exists (select 1 from run_command where run_command.run = run_claim.run and consumed = 0)`;
  const hasMessage = sql`(given.listens = 1 and given.scanned < ${lastMessage})`;
  const { rows: released } = await sql<{ readonly run: string; readonly due: number }>`
    update run_claim set owner = null, deaths = 0, listens = given.listens, scanned = given.scanned,
      due_at = case when ${hasCommand} or ${hasMessage} then ${now()} else given.wake_at end
    from ${jsonRows(dialect, columns, rows)} where run_claim.run = given.run
    returning run_claim.run as run, case when due_at <= ${now()} then 1 else 0 end as due`.execute(transaction);
  return released.filter(({ due }) => due === 1).map(({ run }) => run);
}
