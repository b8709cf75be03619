import { sql, type Transaction } from 'kysely';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables.ts';
import { appendEvents, lastMessage, lockMessages } from './event-store.ts';
import { type Changed, nothingChanged } from './run-changes.ts';
import { consumeCommands, insertCommands, wakeRuns } from './run-command-store.ts';
import { createRunsIn } from './run-creation-store.ts';
import { writePeople } from './run-people-store.ts';
import type { RunWrite } from './run-records.ts';
import type { RunStoreContext } from './run-store-context.ts';
import { writeStates } from './run-value-store.ts';

export type WriteOutcome = 'saved' | 'lost';

/**
 * Writes steps of runs in one transaction, each of another run. A write whose fence is not that of the current claim is lost: nothing of it is
 * written. The others are.
 *
 * Locks are taken in one order by every transaction: that of messages, the rows of claims by run, that of event numbers.
 */
export function writeSteps(context: RunStoreContext, writes: readonly RunWrite[]): Promise<readonly WriteOutcome[]> {
  return context.changes.commit(async (transaction) => {
    const claims = await lockClaims(context, transaction, writes);
    const held = writes.filter(({ run, fence }) => {
      const claim = claims.get(run);
      return claim?.owner !== null && claim?.fence === fence;
    });
    const changed = held.length === 0 ? nothingChanged : await writeHeld(context, transaction, { held, claims });
    const saved = new Set(held);
    return { result: writes.map((write) => (saved.has(write) ? 'saved' : 'lost')), ...changed };
  });
}

/** `has_values`: 1 where the store has long values of the run. */
type Claim = Pick<Tables['run_claim'], 'run' | 'owner' | 'fence' | 'deaths'> &
  Pick<Tables['run'], 'automation' | 'status' | 'started_at' | 'suspended_by'> & { readonly has_values: number };

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
    await sql<Claim>`select run_claim.run, owner, fence, deaths, automation, status, started_at, suspended_by, ${values} as has_values
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
  await writeRuns(
    context,
    transaction,
    held.filter((write) => changesRun(write, claims.get(write.run))),
  );
  await addBytes(context, transaction, held);
  await writeStates(context, transaction, held, (run) => claims.get(run)?.has_values === 1);
  await writeTasks(context, transaction, held);
  await writePeople(context, transaction, held);
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
  await appendEvents(context, transaction, events);
  const messages = events.some(({ event }) => event.kind === 'message');
  return { runs: [...created, ...commanded, ...due], events: events.length > 0, messages };
}

function hasEnded({ endedAt }: RunWrite): boolean {
  return endedAt !== undefined;
}

/** A row that does not change is not written: it has many indexes. */
function changesRun(write: RunWrite, claim: Claim | undefined): boolean {
  if (
    write.notStored !== undefined ||
    hasEnded(write) ||
    write.status !== claim?.status ||
    (write.startedAt ?? null) !== claim.started_at
  )
    return true;
  return (write.suspendedBy ?? null) !== claim.suspended_by;
}

async function writeRuns(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<void> {
  if (writes.length === 0) return;
  const rows = writes.map(({ run, status, suspendedBy, startedAt, endedAt, error, notStored }) => [
    run,
    status,
    suspendedBy ?? null,
    startedAt ?? null,
    endedAt ?? null,
    error === undefined ? null : JSON.stringify(error),
    notStored === undefined ? null : JSON.stringify(notStored),
  ]);
  const times = { started_at: 'bigint', ended_at: 'bigint' } as const;
  const columns = { id: 'text', status: 'text', suspended_by: 'text', ...times, error: 'text', not_stored: 'text' } as const;
  await sql`update run set status = given.status, suspended_by = given.suspended_by, started_at = given.started_at,
      ended_at = given.ended_at, error = given.error, not_stored = coalesce(given.not_stored, run.not_stored)
    from ${jsonRows(dialect, columns, rows)} where run.id = given.id`.execute(transaction);
  const outputs = writes.flatMap(({ run, output }) => (output === undefined ? [] : [[run, output]]));
  if (outputs.length === 0) return;
  await sql`update run_text set output = given.output from ${jsonRows(dialect, { run: 'text', output: 'text' }, outputs)}
    where run_text.run = given.run`.execute(transaction);
}

/** What a write adds to its run. A task that is written again counts again, so the sum may be too high and never too low. */
async function addBytes(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<void> {
  const rows = writes.flatMap(({ run, tasks, events, output }) => {
    const texts = [...tasks.map((task) => JSON.stringify(task)), ...events.map(({ event }) => event), output ?? ''];
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return bytes === 0 ? [] : [[run, bytes]];
  });
  if (rows.length === 0) return;
  await sql`update run set bytes = run.bytes + given.bytes from ${jsonRows(dialect, { id: 'text', bytes: 'bigint' }, rows)}
    where run.id = given.id`.execute(transaction);
}

async function writeTasks(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly RunWrite[],
): Promise<void> {
  // One row twice in a statement is an error on PostgreSQL: the later record of an activity counts.
  const rows = writes.flatMap(({ run, tasks }) =>
    [...new Map(tasks.map((task) => [task.activity, task])).values()].map((task) => [run, task.activity, JSON.stringify(task)]),
  );
  if (rows.length === 0) return;
  const columns = { run: 'text', activity: 'bigint', facts: 'text' } as const;
  await sql`insert into run_task (run, activity, facts) select run, activity, facts from ${jsonRows(dialect, columns, rows)}
    where true on conflict (run, activity) do update set facts = excluded.facts`.execute(transaction);
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
