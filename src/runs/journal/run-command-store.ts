import { sql, type Transaction } from 'kysely';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { QueuedCommand, RunCommand } from './run-records.ts';
import { commandOf } from './run-row.ts';
import { atOnce, type RunStoreContext } from './run-store-context.ts';

/** `key`: a run has at most one command with it. */
export interface KeyedCommand {
  readonly run: string;
  readonly command: RunCommand;
  readonly key: string | undefined;
}

/**
 * Queues all of the commands, or none. False where one of the runs does not exist or has ended, or has had a command with the same key. The rows
 * of the claims are locked first, as a release does: the one of both that comes second sees the other.
 */
export async function queueCommands(context: RunStoreContext, commands: readonly KeyedCommand[]): Promise<boolean> {
  const { database, changes } = context;
  const { dialect } = database;
  const runs = [...new Set(commands.map(({ run }) => run))];
  return await changes.commit(async (transaction) => {
    const refused = { result: false, runs: [], events: false };
    const locking = dialect === 'postgres' ? sql`order by run for update` : sql``;
    const { rows: open } = await sql`select run from run_claim where ${isOneOf(dialect, 'run', runs)} ${locking}`.execute(
      transaction,
    );
    if (open.length < runs.length) return refused;
    const columns = { run: 'text', key: 'text', command: 'text' } as const;
    const given = jsonRows(
      dialect,
      columns,
      commands.map(({ run, key = null, command }) => [run, key, JSON.stringify(command)]),
    );
    const { rows: earlier } = await sql`select number from run_command as had join ${given}
      on had.run = given.run and had.key = given.key limit 1`.execute(transaction);
    if (earlier.length > 0) return refused;
    await sql`insert into run_command (run, key, command, consumed) select run, key, command, 0 from ${given}`.execute(
      transaction,
    );
    await wakeRuns(context, transaction, runs);
    return { result: true, runs, events: false };
  });
}

/** Queues commands of the gateway itself. Answers the runs that have not ended: a command to another one is dropped. */
export async function commandRuns(
  context: RunStoreContext,
  transaction: Transaction<Tables>,
  commands: readonly { readonly run: string; readonly command: RunCommand }[],
): Promise<readonly string[]> {
  if (commands.length === 0) return [];
  const { dialect } = context.database;
  const named = isOneOf(
    dialect,
    'run',
    commands.map(({ run }) => run),
  );
  // Rows are locked in the order in which every transaction locks them.
  const locking = dialect === 'postgres' ? sql`order by run for update` : sql``;
  const { rows } = await sql<{ readonly run: string }>`select run from run_claim where ${named} ${locking}`.execute(transaction);
  const open = new Set(rows.map(({ run }) => run));
  await insertCommands(
    context,
    transaction,
    commands.filter(({ run }) => open.has(run)),
  );
  await wakeRuns(context, transaction, [...open]);
  return [...open];
}

/** The rows of the claims are locked already. */
export async function insertCommands(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  commands: readonly { readonly run: string; readonly command: RunCommand }[],
): Promise<void> {
  if (commands.length === 0) return;
  const rows = commands.map(({ run, command }) => [run, JSON.stringify(command)]);
  await sql`insert into run_command (run, command, consumed)
    select run, command, 0 from ${jsonRows(dialect, { run: 'text', command: 'text' }, rows)}`.execute(transaction);
}

/** Those of the runs that no one holds are due now. A holder learns of the change by its notification. */
export async function wakeRuns(
  { database: { dialect }, now }: RunStoreContext,
  transaction: Transaction<Tables>,
  runs: readonly string[],
): Promise<void> {
  if (runs.length === 0) return;
  await sql`update run_claim set due_at = ${atOnce(now())} where ${isOneOf(dialect, 'run', runs)} and owner is null`.execute(
    transaction,
  );
}

/** Commands of holders that are done. Those with a key stay, so that no second one is queued. */
export async function consumeCommands(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return;
  const rows = numbers.map((number) => [number]);
  const given = sql`number in (select number from ${jsonRows(dialect, { number: 'bigint' }, rows)})`;
  await sql`delete from run_command where key is null and ${given}`.execute(transaction);
  await sql`update run_command set consumed = 1 where ${given}`.execute(transaction);
}

/** Commands that no holder has consumed, in the order in which they were queued. */
export async function queuedCommands(
  { database: { dialect, read } }: RunStoreContext,
  runs: readonly string[],
): Promise<readonly QueuedCommand[]> {
  if (runs.length === 0) return [];
  const rows = await read
    .selectFrom('run_command')
    .select(['number', 'run', 'command'])
    .where(isOneOf(dialect, 'run', runs))
    .where('consumed', '=', 0)
    .orderBy('number')
    .execute();
  return rows.map(commandOf);
}
