import { sql, type Transaction } from 'kysely';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { RunWrite } from './run-records.ts';
import type { RunStoreContext } from './run-store-context.ts';

type StateWrite = Pick<RunWrite, 'run' | 'state'>;

/**
 * States, with those of their long values that the store lacks. Values that a state no longer names are deleted. `hasValues`: whether the
 * store has long values of a run.
 */
export async function writeStates(
  { database: { dialect }, clock }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly StateWrite[],
  hasValues: (run: string) => boolean,
): Promise<void> {
  const valued = writes.filter(({ run, state }) => hasValues(run) || (state?.values.size ?? 0) > 0);
  if (valued.length > 0) await writeValues(dialect, transaction, valued);
  const states = writes.flatMap(({ run, state }) => (state === undefined ? [] : [[run, state.text, clock.now()]]));
  if (states.length > 0) {
    const given = jsonRows(dialect, { run: 'text', state: 'text', saved_at: 'bigint' }, states);
    await sql`insert into run_state (run, state, saved_at) select run, state, saved_at from ${given}
      where true on conflict (run) do update set state = excluded.state, saved_at = excluded.saved_at`.execute(transaction);
  }
  const ended = writes.filter(({ state }) => state === undefined).map(({ run }) => run);
  if (ended.length > 0) await sql`delete from run_state where ${isOneOf(dialect, 'run', ended)}`.execute(transaction);
}

async function writeValues(
  dialect: 'sqlite' | 'postgres',
  transaction: Transaction<Tables>,
  writes: readonly StateWrite[],
): Promise<void> {
  const kept = await keptIds(dialect, transaction, writes);
  const knownOf = (run: string): ReadonlySet<string> => kept.get(run) ?? new Set();
  const missing = writes.flatMap(({ run, state }) =>
    [...(state?.values ?? [])].filter(([id]) => !knownOf(run).has(id)).map(([id, value]) => [run, id, value]),
  );
  const unnamed = writes.flatMap(({ run, state }) =>
    [...knownOf(run)].filter((id) => state?.values.has(id) !== true).map((id) => [run, id]),
  );
  if (missing.length > 0) {
    const given = jsonRows(dialect, { run: 'text', id: 'text', value: 'text' }, missing);
    await sql`insert into run_value (run, id, value) select run, id, value from ${given}`.execute(transaction);
  }
  if (unnamed.length > 0) {
    const given = jsonRows(dialect, { run: 'text', id: 'text' }, unnamed);
    await sql`delete from run_value where (run, id) in (select run, id from ${given})`.execute(transaction);
  }
}

async function keptIds(
  dialect: 'sqlite' | 'postgres',
  transaction: Transaction<Tables>,
  writes: readonly Pick<RunWrite, 'run'>[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const runs = writes.map(({ run }) => run);
  const rows = await transaction
    .selectFrom('run_value')
    .select(['run', 'id'])
    .where(isOneOf(dialect, 'run', runs))
    .execute();
  const kept = new Map<string, Set<string>>();
  for (const { run, id } of rows) {
    const known = kept.get(run);
    if (known === undefined) kept.set(run, new Set([id]));
    else known.add(id);
  }
  return kept;
}
