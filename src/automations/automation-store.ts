import { type Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables.ts';
import { type Automation, readersOf } from './automation.ts';
import { exportAutomations } from './automation-export-store.ts';
import { type AutomationPage, documentRows, listAutomations } from './automation-list-store.ts';
import { type AutomationPeople, isHeld, noPeople } from './automation-people.ts';
import { insertPeople } from './automation-person-store.ts';
import { automationOf, ownedText, rowOf, storedPeople } from './automation-row.ts';
import type { Viewer } from './automation-visibility-store.ts';
import { createCatalogueChanges } from './catalogue-changes.ts';
import type { ListOptions } from './list-options.ts';
import { timeOf } from './run-facts.ts';
import { exactKey } from './sort-key.ts';
import { workflowsAmong } from './workflow-lookup-store.ts';

/**
 * The automations on this store. Texts that are compared are kept as UTF-8 bytes (sort-key.ts). A listing is ordered by the key of the
 * sort field, documents without the field first, then by name key and exact name. The order is total, and -1 is its exact reverse.
 */
export interface AutomationStore {
  /** `principal`: who asks, by its unique id. Principals that wait for a listing take turns. */
  list(request: { readonly options: ListOptions; readonly viewer: Viewer; readonly principal?: string }): Promise<AutomationPage>;
  read(id: string): Promise<StoredAutomation | undefined>;
  /** One transaction with no other change at the same time, in any gateway: all of it is kept, or nothing. */
  change<T>(work: (writer: AutomationWriter) => Promise<T>): Promise<T>;
  /** See `CatalogueChanges`. */
  onChange(listener: () => void): () => void;
  /** Runs an import, which has all of its documents in memory. Few run at a time, and others wait. */
  importing<T>(work: () => Promise<T>): Promise<T>;
  /** Every document of one moment in alphabetical order, as JSON texts, some at a time. Holds a reading connection until it ends. */
  export(): AsyncGenerator<readonly string[], void, undefined>;
}

export interface StoredAutomation {
  readonly automation: Automation;
  /** Its `nextRunAt` as the owner wrote it last. */
  readonly givenNext: string | undefined;
  readonly people: AutomationPeople;
}

/** What is kept with an automation. */
interface InsertedFacts {
  /** The `nextRunAt` that the owner wrote last, where it is not that of the automation. */
  readonly givenNext?: string | undefined;
  /** Without it no person is known. */
  readonly peopleOf?: ((automation: Automation) => AutomationPeople) | undefined;
}

/** The catalogue within one change. */
export interface AutomationWriter {
  read(id: string): Promise<StoredAutomation | undefined>;
  /** By `_id`; at most 50. */
  readAll(ids: readonly string[]): Promise<ReadonlyMap<string, StoredAutomation>>;
  /** Those of the workflows that exist. */
  workflowsAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Inserts in order, without those whose `_id` or `name` is taken, by the store or by one before; it answers these. */
  insert(automations: readonly Automation[], facts?: InsertedFacts): Promise<readonly Conflict[]>;
  /** Answers how many there were. */
  remove(ids: readonly string[]): Promise<number>;
}

/** Why one of the automations was not inserted. */
export interface Conflict {
  /** In the list that was given. */
  readonly index: number;
  readonly field: '_id' | 'name';
  /** `_id` of the automation that has it. */
  readonly takenBy: string;
}

/** At most two exports run, so that listings find a connection, however slowly the exports are read. */
const exportsAtOnce = 2;
/** At most four imports run, since each may take 64 MiB (automation-import.ts). Others wait before they read. */
const importsAtOnce = 4;
/** At most two listings run, so that logins find a connection: a search may take a second and all of a processor. */
const listingsAtOnce = 2;
/** Milliseconds that a listing waits for a permit. */
const listingWait = 10_000;
/** Milliseconds that a change waits for a permit, as for a SQLite connection and for a lock of PostgreSQL. */
const changeWait = 10_000;
/** Nineteen columns each: well below the 32,766 parameters that SQLite takes in a statement. */
const insertedAtOnce = 50;
/** Matches of a search that are fetched and sorted; only tests pass another number. */
const sortedAtMost = 5_000;

export function createAutomationStore(database: Database, sorted = sortedAtMost): AutomationStore {
  const { read } = database;
  let exporting = 0;
  const imports = new Semaphore(importsAtOnce);
  const listings = new Semaphore(listingsAtOnce);
  // A change that waits for the lock of PostgreSQL keeps a connection. One at a time leaves connections for runs and readers.
  const permits = new Semaphore(1);
  const changes = createCatalogueChanges(database);
  const change = async <T>(work: (writer: AutomationWriter) => Promise<T>): Promise<T> => {
    const result = await database.exclusively('automation', async (transaction) => {
      // Every statement of a change has its index. PostgreSQL, which has no statistics of what an import is just inserting, would
      // read the whole table instead, batch after batch.
      if (database.dialect === 'postgres') await sql`set local enable_seqscan = off`.execute(transaction);
      const worked = await work(createWriter(transaction));
      await changes.announce(transaction);
      return worked;
    });
    changes.committed();
    return result;
  };
  return {
    list: (request) =>
      listings.run(() => listAutomations(database, request, sorted), {
        group: request.principal ?? '',
        limit: listingWait,
        late: tooManyListings,
      }),
    read: (id) => readOne(read, id),
    change: (work) =>
      permits.run(() => change(work), { limit: changeWait, late: () => storeUnavailable('waited too long to change') }),
    onChange: (listener) => changes.onChange(listener),
    importing: (work) => imports.run(work, { limit: changeWait, late: () => tooMany('imports', importsAtOnce) }),
    async *export() {
      if (exporting >= exportsAtOnce) throw tooMany('exports', exportsAtOnce);
      exporting += 1;
      try {
        yield* exportAutomations(database);
      } finally {
        exporting -= 1;
      }
    },
  };
}

function tooManyListings(): GatewayError {
  const detail = `Listings are slow right now: this one waited ${listingWait / 1000} seconds for others to end; try again later.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}

function tooMany(what: 'exports' | 'imports', atOnce: number): GatewayError {
  const detail = `${atOnce} ${what} are running already; try again when one has ended.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}

async function readOne(read: Kysely<Tables>, id: string): Promise<StoredAutomation | undefined> {
  return (await readAll(read, [id])).get(id);
}

async function readAll(read: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, StoredAutomation>> {
  const rows = await documentRows(read).select('next_run_given_key').where('automation.id', 'in', ids.map(exactKey)).execute();
  const all = rows.map((row): StoredAutomation => {
    const { next_run_given_key: given, people } = row;
    return { automation: automationOf(row), givenNext: given === null ? undefined : timeOf(given), people: storedPeople(people) };
  });
  return new Map(all.map((stored) => [stored.automation._id, stored]));
}

function createWriter(transaction: Transaction<Tables>): AutomationWriter {
  let lastNumber: number | undefined;
  return {
    read: (id) => readOne(transaction, id),
    readAll: (ids) => readAll(transaction, ids),
    workflowsAmong: (ids) => workflowsAmong(transaction, ids),
    async insert(automations, { givenNext, peopleOf: peopleFor = () => noPeople } = {}) {
      const conflicts: Conflict[] = [];
      lastNumber ??= await lastNumberIn(transaction);
      for (let start = 0; start < automations.length; start += insertedAtOnce) {
        const first = lastNumber + 1;
        const batch = automations.slice(start, start + insertedAtOnce).map((automation, index) => {
          const readers = readersOf(automation);
          const people = peopleFor(automation);
          const facts = { number: first + index, isRestricted: readers !== undefined, isHeld: isHeld(people, automation) };
          const row = rowOf(automation, givenNext === undefined ? facts : { ...facts, givenNext });
          return { row, document: ownedText(automation), people, groups: [...(readers ?? [])] };
        });
        lastNumber += batch.length;
        const taken = await insertBatch(transaction, batch);
        for (const { index, ...conflict } of taken) conflicts.push({ index: start + index, ...conflict });
      }
      return conflicts;
    },
    async remove(ids) {
      let removed = 0n;
      for (let start = 0; start < ids.length; start += insertedAtOnce) {
        const { numDeletedRows } = await transaction
          .deleteFrom('automation')
          .where('id', 'in', ids.slice(start, start + insertedAtOnce).map(exactKey))
          .executeTakeFirstOrThrow();
        removed += numDeletedRows;
      }
      return Number(removed);
    },
  };
}

async function lastNumberIn(transaction: Transaction<Tables>): Promise<number> {
  const row = await transaction.selectFrom('automation').select('number').orderBy('number', 'desc').limit(1).executeTakeFirst();
  return row?.number ?? 0;
}

interface InsertedAutomation {
  readonly row: Tables['automation'];
  readonly document: string;
  readonly people: AutomationPeople;
  readonly groups: readonly string[];
}

/** In one statement; only where there are conflicts one by one, to find which. */
async function insertBatch(transaction: Transaction<Tables>, batch: readonly InsertedAutomation[]): Promise<readonly Conflict[]> {
  const insert = async (some: readonly InsertedAutomation[]): Promise<boolean> => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('automation')
      .values(some.map(({ row }) => row))
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === BigInt(some.length);
  };
  await sql`savepoint batch`.execute(transaction);
  const allAtOnce = await insert(batch);
  if (!allAtOnce) await sql`rollback to savepoint batch`.execute(transaction);
  await sql`release savepoint batch`.execute(transaction);
  const conflicts: Conflict[] = [];
  const inserted: InsertedAutomation[] = [];
  for (const [index, each] of batch.entries()) {
    if (allAtOnce || (await insert([each]))) inserted.push(each);
    else conflicts.push({ index, ...(await conflictOf(transaction, each.row)) });
  }
  await insertBesides(transaction, inserted);
  return conflicts;
}

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const groupsAtOnce = 2_000;

async function insertBesides(transaction: Transaction<Tables>, inserted: readonly InsertedAutomation[]): Promise<void> {
  if (inserted.length === 0) return;
  const texts = inserted.map(({ row: { number }, document, people }) => ({ number, document, people: JSON.stringify(people) }));
  await transaction.insertInto('automation_text').values(texts).execute();
  const groups = inserted.flatMap(({ row: { number }, groups: names }) =>
    names.map((name) => ({ number, group_name: exactKey(name) })),
  );
  for (let start = 0; start < groups.length; start += groupsAtOnce)
    await transaction
      .insertInto('automation_group')
      .values(groups.slice(start, start + groupsAtOnce))
      .execute();
  await insertPeople(
    transaction,
    inserted.map(({ row: { number }, people }) => ({ number, people })),
  );
}

async function conflictOf(
  transaction: Transaction<Tables>,
  { id, name }: Tables['automation'],
): Promise<Omit<Conflict, 'index'>> {
  const { rows } = await sql<{ id: Uint8Array }>`select id from automation where id = ${id} or name = ${name}
    order by case when id = ${id} then 0 else 1 end`.execute(transaction);
  const [holder] = rows;
  if (holder === undefined) throw new Error('An automation was not inserted, and no automation is in conflict with it.');
  return { field: Buffer.from(holder.id).equals(id) ? '_id' : 'name', takenBy: Buffer.from(holder.id).toString('utf8') };
}
