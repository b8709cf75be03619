import { type Kysely, sql } from 'kysely';
import { isOneOf } from '#database/json-rows.ts';
import type { Tables } from '#database/tables.ts';
import type { ClaimedRun } from './run-records.ts';
import { summaryColumns, summaryOf } from './run-row.ts';
import type { RunStoreContext } from './run-store-context.ts';

/** `lease`: milliseconds. */
export interface ClaimOptions {
  readonly owner: string;
  readonly limit: number;
  readonly lease: number;
  /** Runs that the owner works on. It does not take them from itself, although their leases may have ended: a renewal keeps them. */
  readonly except?: readonly string[];
}

export interface RenewOptions {
  readonly owner: string;
  readonly lease: number;
  /** The runs that the owner works on. It may hold another one, of a claim whose answer was lost: that lease ends. */
  readonly runs: readonly string[];
}

export interface Renewed {
  /** The runs that the owner still holds, with their fences. */
  readonly held: ReadonlyMap<string, number>;
  /** Those of them with commands. */
  readonly waiting: ReadonlySet<string>;
}

interface Claim {
  readonly run: string;
  readonly fence: number;
  readonly deaths: number;
  readonly scanned: number;
}

/**
 * Claims runs that are due: no one holds them, or the lease of their holder has ended. The longest due come first. Two claims at the same
 * time never get the same run. SQLite has one writer, and on PostgreSQL each passes over the rows that another one has locked.
 */
export async function claimRuns(
  { database: { dialect, read, records }, now }: RunStoreContext,
  { owner, limit, lease, except = [] }: ClaimOptions,
): Promise<readonly ClaimedRun[]> {
  const others = sql<boolean>`not (${isOneOf(dialect, 'run', except)})`;
  const due = await read
    .selectFrom('run_claim')
    .select('run')
    .where('due_at', '<=', now())
    .where(others)
    .limit(1)
    .executeTakeFirst();
  if (due === undefined || limit === 0) return [];
  return records.transaction().execute(async (transaction) => {
    const locking = dialect === 'postgres' ? sql`for update skip locked` : sql``;
    const { rows } = await sql<Claim>`
      with due as (select run from run_claim where due_at <= ${now()} and ${others} order by due_at limit ${limit} ${locking})
      update run_claim set owner = ${owner}, fence = fence + 1, listens = 0, due_at = ${now()} + ${lease},
        deaths = case when owner is null then deaths else deaths + 1 end
      from due where run_claim.run = due.run
      returning run_claim.run as run, fence, deaths, scanned`.execute(transaction);
    return await claimedRuns(transaction, dialect, rows);
  });
}

async function claimedRuns(
  transaction: Kysely<Tables>,
  dialect: 'sqlite' | 'postgres',
  claims: readonly Claim[],
): Promise<readonly ClaimedRun[]> {
  if (claims.length === 0) return [];
  const ids = claims.map(({ run }) => run);
  const rows = await transaction
    .selectFrom('run')
    .innerJoin('run_text', 'run_text.run', 'run.id')
    .leftJoin('run_state', 'run_state.run', 'run.id')
    .select([...summaryColumns, 'input', 'output', 'state', 'saved_at'])
    .where(isOneOf(dialect, 'run.id', ids))
    .execute();
  const values = await valuesOf(transaction, dialect, ids);
  const found = new Map(rows.map((row) => [row.id, row]));
  return claims.map(({ run, fence, deaths, scanned }) => {
    const row = found.get(run);
    if (row === undefined) throw new Error('A run was claimed, and the store does not have it.');
    const state = row.state === null ? undefined : { text: row.state, values: values.get(run) ?? new Map<string, string>() };
    const savedAt = row.saved_at ?? row.created_at;
    return { ...summaryOf(row), input: row.input, output: row.output ?? undefined, fence, deaths, scanned, state, savedAt };
  });
}

/** The long values of these runs, by run and id. */
export async function valuesOf(
  query: Kysely<Tables>,
  dialect: 'sqlite' | 'postgres',
  runs: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const rows = await query
    .selectFrom('run_value')
    .selectAll()
    .where(isOneOf(dialect, 'run', runs))
    .execute();
  const values = new Map<string, Map<string, string>>();
  for (const { run, id, value } of rows) {
    const known = values.get(run);
    if (known === undefined) values.set(run, new Map([[id, value]]));
    else known.set(id, value);
  }
  return values;
}

/** A lease that ended, but whose run no one has claimed, goes on. */
export async function renewLeases(
  { database: { dialect, records: query }, now }: RunStoreContext,
  { owner, lease, runs }: RenewOptions,
): Promise<Renewed> {
  if (runs.length === 0) return { held: new Map(), waiting: new Set() };
  // Rows are locked in the order in which every transaction locks them.
  const locking = dialect === 'postgres' ? sql`order by run for update` : sql``;
  const { rows } = await sql<Pick<Claim, 'run' | 'fence'>>`
    with mine as (select run from run_claim where ${isOneOf(dialect, 'run', runs)} and owner = ${owner} ${locking})
    update run_claim set due_at = ${now()} + ${lease} from mine where run_claim.run = mine.run
    returning run_claim.run as run, fence`.execute(query);
  const held = new Map(rows.map(({ run, fence }) => [run, fence]));
  const commanded = await query
    .selectFrom('run_command')
    .select('run')
    .distinct()
    .where(isOneOf(dialect, 'run', [...held.keys()]))
    .where('consumed', '=', 0)
    .execute();
  return { held, waiting: new Set(commanded.map(({ run }) => run)) };
}

/** Milliseconds since the epoch; undefined where no run is due at any time. The lease of another gateway counts. */
export async function nextWake(
  { database: { read, dialect } }: RunStoreContext,
  { except = [] }: Pick<ClaimOptions, 'except'>,
): Promise<number | undefined> {
  const row = await read
    .selectFrom('run_claim')
    .select('due_at')
    .where('due_at', 'is not', null)
    .where(sql<boolean>`not (${isOneOf(dialect, 'run', except)})`)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row?.due_at ?? undefined;
}
