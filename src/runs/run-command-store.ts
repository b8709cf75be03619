import { sql, type Transaction } from 'kysely';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables.ts';
import type { QueuedCommand, RunCommand } from './run-records.ts';
import { commandOf } from './run-row.ts';
import { atOnce, type RunStoreContext } from './run-store-context.ts';

/**
 * Queues a command. False where the run does not exist or has ended, or has had a command with the same key. The row of the claim is locked
 * first, as a release does: the one of both that comes second sees the other.
 */
export async function queueCommand(
  context: RunStoreContext,
  { run, command, key }: { readonly run: string; readonly command: RunCommand; readonly key: string | undefined },
): Promise<boolean> {
  const { database, changes } = context;
  return changes.commit(async (transaction) => {
    const open = transaction.selectFrom('run_claim').select('run').where('run', '=', run);
    const locked = await (database.dialect === 'postgres' ? open.forUpdate() : open).executeTakeFirst();
    const refused = { result: false, runs: [], events: false };
    if (locked === undefined) return refused;
    const { rows } = await sql`insert into run_command (run, key, command, consumed)
      values (${run}, ${key ?? null}, ${JSON.stringify(command)}, 0) on conflict do nothing returning number`.execute(
      transaction,
    );
    if (rows.length === 0) return refused;
    await wakeRuns(context, transaction, [run]);
    return { result: true, runs: [run], events: false };
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
