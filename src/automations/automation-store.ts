import { randomInt } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables.ts';
import { type Automation, readersOf } from './automation.ts';
import { audienceOf, type Viewer } from './automation-audience-store.ts';
import { type BlockChanges, createBlockChanges } from './automation-block-store.ts';
import { exportAutomations } from './automation-export-store.ts';
import { type AutomationPage, listAutomations } from './automation-list-store.ts';
import { automationOf, columnsOfFacts, ownerFactColumns, ownerFactsOf, rowOf } from './automation-row.ts';
import { createCatalogueChanges } from './catalogue-changes.ts';
import type { ListOptions } from './list-options.ts';
import { forgetNotes, hex, noteRun, notesOf } from './run-fact-store.ts';
import { factsInEffect, type NotedFacts, type OwnerFacts, withFactsOf } from './run-facts.ts';
import { exactKey } from './sort-key.ts';

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
  /** Notes what a run did; false where there is no such automation. Waits for no change, and no change waits for it. */
  noteRun(id: string, facts: NotedFacts): Promise<boolean>;
  /** See `CatalogueChanges`. */
  onChange(listener: () => void): () => void;
  /** Every document of one moment in alphabetical order, as JSON texts, some at a time. Holds a reading connection until it ends. */
  export(): AsyncGenerator<readonly string[], void, undefined>;
}

export interface StoredAutomation {
  /** With the run facts that are in effect. */
  readonly automation: Automation;
  /** Its JSON text without the run facts: what its ETag covers. */
  readonly owned: string;
  readonly facts: OwnerFacts;
}

/** The catalogue within one change. */
export interface AutomationWriter {
  read(id: string): Promise<StoredAutomation | undefined>;
  /**
   * Inserts in order, without those whose `_id` or `name` is taken, by the store or by one before; it answers these. `kept` has run facts
   * of the row that was removed before, which stay in force with their notes. Other facts are new, and end the notes of runs.
   */
  insert(automations: readonly Automation[], kept?: Partial<OwnerFacts>): Promise<readonly Conflict[]>;
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
/** At most two listings run, so that logins find a connection: a search may take a second and all of a processor. */
const listingsAtOnce = 2;
/** Milliseconds that a listing waits for a permit. */
const listingWait = 10_000;
/** Milliseconds that a change waits for a permit, as for a SQLite connection and for a lock of PostgreSQL. */
const changeWait = 10_000;
/** Eighteen columns each: well below the 32,766 parameters that SQLite takes in a statement. */
const insertedAtOnce = 50;

/** Only tests pass other sizes, to reach with few documents what takes many. */
interface CatalogueSizes {
  /** Documents of a block of the alphabetical order. */
  readonly block: number;
  /** Matches of a search that are collected and sorted. Where there are more, they are dense enough to read in order. */
  readonly collected: number;
}

const usualSizes: CatalogueSizes = { block: 2_000, collected: 20_000 };

export function createAutomationStore(database: Database, sizes = usualSizes): AutomationStore {
  const { read } = database;
  let exporting = 0;
  const listings = new Semaphore(listingsAtOnce);
  // A change that waits for the lock of PostgreSQL keeps a connection. One at a time leaves connections for runs and readers.
  const permits = new Semaphore(1);
  const changes = createCatalogueChanges(database);
  const change = async <T>(work: (writer: AutomationWriter) => Promise<T>): Promise<T> => {
    const { result, removed } = await database.exclusively('automation', async (transaction) => {
      // Every statement of a change has its index. PostgreSQL, which has no statistics of what an import is just inserting, would
      // read the whole table instead, block after block.
      if (database.dialect === 'postgres') await sql`set local enable_seqscan = off`.execute(transaction);
      const { writer, finish } = createWriter({ transaction, database, blockSize: sizes.block });
      const worked = await work(writer);
      const gone = await finish();
      await changes.announce(transaction);
      return { result: worked, removed: gone };
    });
    changes.committed();
    // The change is committed. Notes that are not deleted here cost some bytes and have no effect.
    await forgetNotes(database, removed).catch(() => {});
    return result;
  };
  return {
    list: (request) =>
      listings.run(() => listAutomations(database, request, sizes.collected), {
        group: request.principal ?? '',
        limit: listingWait,
        late: tooManyListings,
      }),
    read: (id) => readAutomation({ notes: read, rows: read }, id),
    change: (work) =>
      permits.run(() => change(work), { limit: changeWait, late: () => storeUnavailable('waited too long to change') }),
    noteRun: (id, facts) => noteRun(database, exactKey(id), facts),
    onChange: (listener) => changes.onChange(listener),
    async *export() {
      if (exporting >= exportsAtOnce) throw tooManyExports();
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

function tooManyExports(): GatewayError {
  const detail = `${exportsAtOnce} exports are running already; try again when one has ended.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}

/** `notes` is read before `rows` (run-fact-store.ts). */
async function readAutomation(
  { notes, rows }: { readonly notes: Kysely<Tables>; readonly rows: Kysely<Tables> },
  id: string,
): Promise<StoredAutomation | undefined> {
  const key = exactKey(id);
  const noted = (await notesOf(notes, [key])).get(hex(key)) ?? [];
  const row = await rows
    .selectFrom('automation')
    .select(['document', ...ownerFactColumns])
    .where('id', '=', key)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const facts = ownerFactsOf(row);
  const automation = withFactsOf(automationOf(row.document), factsInEffect(facts, noted));
  return { automation, owned: row.document, facts };
}

interface WriterOptions {
  readonly transaction: Transaction<Tables>;
  readonly database: Database;
  readonly blockSize: number;
}

function createWriter({ transaction, database, blockSize }: WriterOptions): {
  readonly writer: AutomationWriter;
  /** Answers which automations were removed, also where they were inserted again. */
  readonly finish: () => Promise<readonly Uint8Array[]>;
} {
  const blocks = createBlockChanges(transaction, blockSize);
  const removedIds: Uint8Array[] = [];
  // One number for all that the change writes. It is random, so that it does not come back, even where a back-up was restored.
  const revision = randomInt(1, 2 ** 48 - 1);
  const audiences = new Map<string, number>();
  const knownAudience = async (automation: Automation): Promise<number> => {
    const groups = readersOf(automation);
    const key = JSON.stringify(groups === undefined ? undefined : [...groups].sort()) ?? '';
    const audience = audiences.get(key) ?? (await audienceOf(transaction, groups));
    if (audiences.size < rememberedAudiences) audiences.set(key, audience);
    return audience;
  };
  const writer: AutomationWriter = {
    // On SQLite the writer does not see the file of the notes.
    read: (id) => readAutomation({ notes: database.dialect === 'sqlite' ? database.read : transaction, rows: transaction }, id),
    async insert(automations, kept = {}) {
      const conflicts: Conflict[] = [];
      for (let start = 0; start < automations.length; start += insertedAtOnce) {
        const batch = automations.slice(start, start + insertedAtOnce);
        const rows: Tables['automation'][] = [];
        for (const automation of batch) {
          const revisions = { last_run_revision: revision, next_run_revision: revision };
          const audience = await knownAudience(automation);
          rows.push({ ...rowOf(automation), ...revisions, ...columnsOfFacts(kept), audience });
        }
        const taken = await insertRows(transaction, rows, blocks);
        for (const { index, ...conflict } of taken) conflicts.push({ index: start + index, ...conflict });
        await blocks.writeLarge();
      }
      return conflicts;
    },
    async remove(ids) {
      let removed = 0;
      for (let start = 0; start < ids.length; start += insertedAtOnce) {
        const rows = await transaction
          .deleteFrom('automation')
          .where('id', 'in', ids.slice(start, start + insertedAtOnce).map(exactKey))
          .returning(['id', 'name_key', 'name', 'audience'])
          .execute();
        removed += rows.length;
        for (const { id, name_key, name, audience } of rows) {
          removedIds.push(id);
          await blocks.count({ place: { nameKey: name_key, name }, audience, documents: -1 });
        }
      }
      return removed;
    },
  };
  const finish = async (): Promise<readonly Uint8Array[]> => {
    await blocks.write();
    return removedIds;
  };
  return { writer, finish };
}

const rememberedAudiences = 10_000;

/** In one statement; only where there are conflicts one by one, to find which. */
async function insertRows(
  transaction: Transaction<Tables>,
  rows: readonly Tables['automation'][],
  blocks: BlockChanges,
): Promise<readonly Conflict[]> {
  const insert = async (some: readonly Tables['automation'][]): Promise<boolean> => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('automation')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === BigInt(some.length);
  };
  const conflicts: Conflict[] = [];
  await sql`savepoint batch`.execute(transaction);
  const allAtOnce = await insert(rows);
  if (!allAtOnce) await sql`rollback to savepoint batch`.execute(transaction);
  await sql`release savepoint batch`.execute(transaction);
  for (const [index, row] of rows.entries()) {
    if (allAtOnce || (await insert([row]))) {
      await blocks.count({ place: { nameKey: row.name_key, name: row.name }, audience: row.audience, documents: 1 });
    } else {
      conflicts.push({ index, ...(await conflictOf(transaction, row)) });
    }
  }
  return conflicts;
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
