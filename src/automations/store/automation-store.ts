import { type Kysely, type SqlBool, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { randomHex } from '#base/text/random-hex.ts';
import type { Database } from '#database/database.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables/tables.ts';
import { type Automation, readersOf } from '../automation.ts';
import type { NewHistoryEntry } from '../automation-history.ts';
import { type AutomationPeople, isHeld, noPeople } from '../automation-people.ts';
import { addHistory, forgetHistory, readHistory } from './automation-history-store.ts';
import { documentRows, type ListRequest, listAutomations } from './automation-list-store.ts';
import { workflowsAmong } from './automation-naming-store.ts';
import { insertPeople } from './automation-person-store.ts';
import { automationOf, documentText, ownedText, rowOf, storedPeople, timeOf } from './automation-row.ts';
import { exactKey } from './sort-key.ts';

export interface StoredAutomation {
  readonly automation: Automation;
  /** The `nextRunAt` that the owner wrote last. */
  readonly givenNext: string | undefined;
  readonly people: AutomationPeople;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

interface InsertedFacts {
  /** The `nextRunAt` that the owner wrote last, if it is another. */
  readonly givenNext?: string | undefined;
  readonly peopleOf?: ((automation: Automation) => AutomationPeople) | undefined;
}

export interface Conflict {
  /** Of the given list. */
  readonly index: number;
  readonly field: '_id' | 'name';
  /** The `_id` of the other automation. */
  readonly takenBy: string;
}

/** However slowly exports are read, listings find a connection. */
const exportsAtOnce = 2;
/** Each may take 64 MiB. Others wait before they read. */
const importsAtOnce = 4;
/** A search may take a second and all of a processor: logins need a connection. */
const listingsAtOnce = 2;
/** Milliseconds. */
const listingWait = 10_000;
/** Milliseconds, as for a SQLite connection and for a lock of PostgreSQL. */
const changeWait = 10_000;
/** Twenty columns each; SQLite takes 32,766 parameters in a statement. */
const insertedAtOnce = 50;
/** Matches of a search that are fetched and sorted; only tests pass another number. */
const maxSorted = 5_000;

export type AutomationStore = ReturnType<typeof createAutomationStore>;

/**
 * Texts that are compared are kept as UTF-8 bytes (sort-key.ts). A listing is ordered by the key of the sort field, documents without the
 * field first, then by name key and exact name. The order is total, and -1 is its exact reverse.
 */
export function createAutomationStore(database: Database, sorted = maxSorted) {
  let exporting = 0;
  const imports = new Semaphore(importsAtOnce);
  const listings = new Semaphore(listingsAtOnce);
  // A change that waits for the lock of PostgreSQL keeps a connection. One at a time leaves connections for others.
  const permits = new Semaphore(1);
  const changes = createCatalogueChanges(database);
  const change = async <T>(work: (writer: AutomationWriter) => Promise<T>): Promise<T> => {
    const result = await database.exclusively('automation', async (transaction) => {
      // Without statistics of what an import just inserts, PostgreSQL would read the whole table, batch after batch.
      if (database.dialect === 'postgres') await sql`set local enable_seqscan = off`.execute(transaction);
      const worked = await work(createWriter(transaction));
      await changes.announce(transaction);
      return worked;
    });
    changes.committed();
    return result;
  };
  return {
    /** `principal`: a unique id. Principals that wait for a listing take turns. */
    list: (request: ListRequest & { readonly principal?: string }) =>
      listings.run(() => listAutomations(database, request, sorted), {
        group: request.principal ?? '',
        limit: listingWait,
        late: () =>
          overloaded(
            `Listings are slow right now: this one waited ${listingWait / 1000} seconds for others to end; try again later.`,
          ),
      }),
    read: (id: string) => readOne(database.read, id),
    /** `_id` of the automation with exactly this name. */
    async idNamed(name: string): Promise<string | undefined> {
      const row = await database.read.selectFrom('automation').select('id').where('name', '=', exactKey(name)).executeTakeFirst();
      return row && Buffer.from(row.id).toString('utf8');
    },
    /** See `readHistory`. */
    history: (id: string, page: Parameters<typeof readHistory>[2]) => readHistory(database, id, page),
    /** See `forgetHistory`. */
    forgetHistory: (before: number) => forgetHistory(database, before),
    /** One transaction, all or nothing, with no other change at the same time in any gateway. */
    change: <T>(work: (writer: AutomationWriter) => Promise<T>): Promise<T> =>
      permits.run(() => change(work), { limit: changeWait, late: () => storeUnavailable('waited too long to change') }),
    /**
     * Calls the listener after changes of any gateway, until the answered function is called. Changes of a command on SQLite are not heard.
     */
    onChange: changes.onChange,
    /** Few imports run at a time, since each has all of its documents in memory. */
    importing: <T>(work: () => Promise<T>): Promise<T> =>
      imports.run(work, { limit: changeWait, late: () => tooMany('imports', importsAtOnce) }),
    /** What the parts read from one moment. Holds a reading connection and a transaction until it ends. */
    async *export(parts: readonly ExportedPart[] = [exportedAutomations]): ReturnType<ExportedPart> {
      if (exporting >= exportsAtOnce) throw tooMany('exports', exportsAtOnce);
      exporting += 1;
      try {
        yield* exportFrom(database, parts);
      } finally {
        exporting -= 1;
      }
    },
  };
}

function tooMany(what: 'exports' | 'imports', atOnce: number): GatewayError {
  return overloaded(`${atOnce} ${what} are running already; try again when one has ended.`);
}

function overloaded(detail: string): GatewayError {
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}

async function readOne(read: Kysely<Tables>, id: string): Promise<StoredAutomation | undefined> {
  return (await readAll(read, [id])).get(id);
}

async function readAll(read: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, StoredAutomation>> {
  const rows = await documentRows(read)
    .select(['next_run_given_key', 'lowest'])
    .where('automation.id', 'in', ids.map(exactKey))
    .execute();
  const all = rows.map((row): StoredAutomation => {
    const { next_run_given_key: given, people, lowest } = row;
    const givenNext = given === null ? undefined : timeOf(given);
    return { automation: automationOf(row), givenNext, people: storedPeople(people), lowest };
  });
  return new Map(all.map((stored) => [stored.automation._id, stored]));
}

export type AutomationWriter = ReturnType<typeof createWriter>;

function createWriter(transaction: Transaction<Tables>) {
  let lastNumber: number | undefined;
  return {
    transaction,
    read: (id: string) => readOne(transaction, id),
    /** By `_id`; at most 50. */
    readAll: (ids: readonly string[]) => readAll(transaction, ids),
    /** Those that exist. */
    workflowsAmong: (ids: readonly string[]) => workflowsAmong(transaction, ids),
    /** Inserts in order, without those whose `_id` or `name` is taken, by the store or by an earlier one. Answers these. */
    async insert(
      automations: readonly Automation[],
      { givenNext, peopleOf = () => noPeople }: InsertedFacts = {},
    ): Promise<readonly Conflict[]> {
      const conflicts: Conflict[] = [];
      lastNumber ??= await lastNumberIn(transaction);
      for (let start = 0; start < automations.length; start += insertedAtOnce) {
        const first = lastNumber + 1;
        const batch = automations.slice(start, start + insertedAtOnce).map((automation, index): InsertedAutomation => {
          const readers = readersOf(automation);
          const people = peopleOf(automation);
          const facts = { number: first + index, isRestricted: readers !== undefined, isHeld: isHeld(people, automation) };
          const row = rowOf(automation, { ...facts, givenNext });
          return { row, document: ownedText(automation), people, groups: [...(readers ?? [])] };
        });
        lastNumber += batch.length;
        const taken = await insertBatch(transaction, batch);
        for (const { index, ...conflict } of taken) conflicts.push({ index: start + index, ...conflict });
      }
      return conflicts;
    },
    /** To be called with each change. */
    note: (entries: readonly NewHistoryEntry[]) => addHistory(transaction, entries),
    /** Answers their count. Rejects with `newer-version-needed` where one of them needs a newer version. */
    async remove(ids: readonly string[]): Promise<number> {
      let removed = 0n;
      for (let start = 0; start < ids.length; start += insertedAtOnce) {
        const keys = ids.slice(start, start + insertedAtOnce).map(exactKey);
        const found = transaction.selectFrom('automation').select(({ fn }) => fn.max('lowest').as('lowest'));
        refuseNewerRow('The automation', (await found.where('id', 'in', keys).executeTakeFirst())?.lowest ?? undefined);
        const { numDeletedRows } = await transaction.deleteFrom('automation').where('id', 'in', keys).executeTakeFirstOrThrow();
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

/** In one statement; where there are conflicts one by one, to find which. */
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

/** SQLite takes 32,766 parameters in a statement. */
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

const channelOfAutomations = 'gateway_automations';

function createCatalogueChanges({ notifications }: Database) {
  const listeners = new Set<() => void>();
  const sender = randomHex(8);
  return {
    onChange: (listener: () => void): (() => void) => {
      const silence = notifications.listen(channelOfAutomations, {
        received: (payload) => {
          if (payload !== sender) listener();
        },
        missed: listener,
      });
      listeners.add(listener);
      return () => {
        silence();
        listeners.delete(listener);
      };
    },
    /** Tells other gateways at the commit. */
    announce: (transaction: Transaction<Tables>) => notifications.notify(transaction, channelOfAutomations, [sender]),
    committed(): void {
      for (const listener of listeners) listener();
    },
  };
}

export type ReadTransaction = Kysely<Tables>;

/** Texts in groups. */
type ExportedPart = (moment: ReadTransaction) => AsyncGenerator<readonly string[], void, undefined>;

async function* exportFrom({ read, dialect }: Database, parts: readonly ExportedPart[]): ReturnType<ExportedPart> {
  const moment = await read.startTransaction().execute();
  try {
    // The caller may read slowly, and this transaction holds no lock that others wait for.
    if (dialect === 'postgres') await sql`set local idle_in_transaction_session_timeout = 60000`.execute(moment);
    for (const part of parts) yield* part(moment);
  } finally {
    await moment.rollback().execute();
  }
}

/** Documents in memory at a time; one is 1 MiB at most. */
const exportedAtOnce = 50;

/** In alphabetical order, as JSON texts without `lastSkip`. */
export async function* exportedAutomations(moment: ReadTransaction): ReturnType<ExportedPart> {
  let last: Pick<Tables['automation'], 'name_key' | 'name'> = { name_key: new Uint8Array(), name: new Uint8Array() };
  for (;;) {
    const rows = await documentRows(moment)
      .select(['name_key', 'name'])
      .where(sql<SqlBool>`(name_key, name) > (${last.name_key}, ${last.name})`)
      .orderBy('name_key')
      .orderBy('name')
      .limit(exportedAtOnce)
      .execute();
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows.map((row) => documentText({ ...automationOf(row), lastSkip: undefined }));
    last = end;
  }
}
