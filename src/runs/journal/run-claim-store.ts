import { randomInt } from 'node:crypto';
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import { isOneOf } from '#database/json-rows.ts';
import { mayActOn } from '#database/row-version.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables/tables.ts';
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
  /**
   * False: runs whose holder is another owner stay there although their leases have ended. It is asked again after the rows are locked, which
   * takes as long as the store is away. Absent: true.
   */
  readonly takesOver?: () => boolean;
  /** How many runs of one person the owner may hold, and how many it holds by `personOf`. Absent: any number. */
  readonly places?: { readonly most: number; readonly held: ReadonlyMap<string, number> };
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

/** Neither the run nor an approval that it waits for needs a newer version. */
const mayClaim = sql<SqlBool>`(${mayActOn('run_claim')} and not exists (select 1 from approval
  where approval.lowest > 0 and not ${mayActOn('approval')} and approval.run = run_claim.run))`;

interface Claim {
  readonly run: string;
  readonly fence: number;
  readonly deaths: number;
  readonly scanned: number;
  readonly person: string;
  readonly loss: number;
}

/** A random number. A claim that the store lost has another fence than the one that follows it. */
function fenceStep(): number {
  return randomInt(1, 1_000_000);
}

/**
 * Claims runs that are due: no one holds them, or the lease of their holder has ended. A run that its owner takes again, since it did not learn
 * of the claim, counts no death. Persons take turns: the fewer runs of a person the owner
 * holds, the sooner comes its next one. The longest due run of a person is the first. Two claims at the same time never get the same run. SQLite has
 * one writer, and on PostgreSQL each passes over the rows that another one has locked. A run that needs a newer version is left to its gateways.
 */
export async function claimRuns(context: RunStoreContext, options: ClaimOptions): Promise<readonly ClaimedRun[]> {
  const {
    database: { dialect, records },
    now,
  } = context;
  const { owner, lease, takesOver = () => true } = options;
  const others = takesOver();
  const chosen = options.limit === 0 ? [] : await chosenRuns(context, { ...options, others });
  if (chosen.length === 0) return [];
  return records.transaction().execute(async (transaction) => {
    const locking = dialect === 'postgres' ? sql`order by run for update skip locked` : sql``;
    const { rows } = await sql<Claim>`
      with due as (select run from run_claim where due_at <= ${now()} and ${isOneOf(dialect, 'run', chosen)}
        and ${mayClaim} ${locking})
      update run_claim set owner = ${owner}, fence = fence + ${fenceStep()}, listens = 0, due_at = ${now()} + ${lease},
        scanned = case when owner is null then scanned else 0 end,
        deaths = case when owner is null or owner = ${owner} then deaths else deaths + 1 end
      from due where run_claim.run = due.run
      returning run_claim.run as run, fence, deaths, scanned, person, loss`.execute(transaction);
    if (others && !takesOver()) throw storeUnavailable('the store was away');
    return await claimedRuns(transaction, dialect, rows);
  });
}

/** The runs whose turn it is. */
async function chosenRuns(
  { database: { dialect, read }, now }: RunStoreContext,
  { owner, limit, except = [], places, others }: ClaimOptions & { readonly others: boolean },
): Promise<readonly string[]> {
  const held = (person: string): number => places?.held.get(person) ?? 0;
  const roomOf = (person: string): number => Math.min(limit, (places?.most ?? Infinity) - held(person));
  const persons = (await duePersons(read, now())).filter((person) => roomOf(person) > 0);
  const free = sql<boolean>`not (${isOneOf(dialect, 'run', except)}) and ${mayClaim} ${others ? sql`` : mine(owner)}`;
  const found: { readonly run: string; readonly turn: number; readonly due: number }[] = [];
  for (const person of persons) {
    const room = roomOf(person);
    // What a person began by hand comes before the items of a batch.
    const due = (inBatch: 0 | 1) => sql`select * from (select run, due_at, in_batch from run_claim
      where person = ${person} and in_batch = ${inBatch} and due_at <= ${now()} and ${free} order by due_at limit ${room}) as due`;
    const { rows } = await sql<{ readonly run: string; readonly due_at: number }>`${due(0)} union all ${due(1)}
      order by in_batch, due_at`.execute(read);
    found.push(...rows.slice(0, room).map(({ run, due_at: at }, index) => ({ run, turn: held(person) + index, due: at })));
  }
  const sorted = found.toSorted((one, other) => one.turn - other.turn || one.due - other.due);
  return sorted.slice(0, limit).map(({ run }) => run);
}

/** No other owner holds the run. */
function mine(owner: string): RawBuilder<unknown> {
  return sql`and (owner is null or owner = ${owner})`;
}

/** Persons that have a run which is due. The index gives one after the other, however many runs each of them has. */
async function duePersons(read: Kysely<Tables>, now: RawBuilder<number>): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly person: string }>`
    with recursive persons (person) as (
      select (select min(person) from run_claim where due_at is not null)
      union all
      select (select min(person) from run_claim where due_at is not null and run_claim.person > persons.person)
      from persons where persons.person is not null)
    select person from persons where person is not null
      and exists (select 1 from run_claim where run_claim.person = persons.person and in_batch in (0, 1) and due_at <= ${now})`.execute(
    read,
  );
  return rows.map(({ person }) => person);
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
  return claims.map(({ run, person, fence, deaths, scanned, loss }) => {
    const row = found.get(run);
    if (row === undefined) throw new Error('A run was claimed, and the store does not have it.');
    const state = row.state === null ? undefined : { text: row.state, values: values.get(run) ?? new Map<string, string>() };
    const savedAt = row.saved_at ?? row.created_at;
    return {
      ...summaryOf(row),
      input: row.input,
      output: row.output ?? undefined,
      person,
      fence,
      abandonedClaims: deaths,
      scanned,
      loss: loss === 0 ? undefined : loss === 1 ? 'held' : 'doubtful',
      state,
      savedAt,
    };
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

/** `owner`: the leases of others do not count. */
export type NextWakeOptions = Pick<ClaimOptions, 'except' | 'places'> & { readonly owner?: string | undefined };

/** Milliseconds since the epoch; undefined where no run is due at any time. The lease of another gateway counts, a person without a place does not. */
export async function nextWake(
  { database: { read, dialect } }: RunStoreContext,
  { owner, except = [], places }: NextWakeOptions,
): Promise<number | undefined> {
  const full = [...(places?.held ?? [])].filter(([, count]) => count >= (places?.most ?? Infinity)).map(([person]) => person);
  const row = await read
    .selectFrom('run_claim')
    .select('due_at')
    .where('due_at', 'is not', null)
    .where(mayClaim)
    .where(sql<boolean>`not (${isOneOf(dialect, 'run', except)}) ${owner === undefined ? sql`` : mine(owner)}`)
    .where(sql<boolean>`not (${isOneOf(dialect, 'person', full)})`)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  return row?.due_at ?? undefined;
}
