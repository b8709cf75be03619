import { sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type Automation, readersOf } from './automation.ts';
import { audienceOf, type Viewer } from './automation-audience-store.ts';
import { type AlphabeticalPlace, type BlockChanges, createBlockChanges, placed } from './automation-block-store.ts';
import { type AutomationPage, listAutomations } from './automation-list-store.ts';
import { rowOf } from './automation-row.ts';
import type { ListOptions } from './list-options.ts';
import { exactKey } from './sort-key.ts';

/**
 * The automations on this store. Texts that are compared are kept as UTF-8 bytes (sort-key.ts); the order of a listing is the
 * sort field's key, documents without the field first, then name key and exact name: total, and -1 its exact reverse.
 */
export interface AutomationStore {
  list(request: { readonly options: ListOptions; readonly viewer: Viewer }): Promise<AutomationPage>;
  read(id: string): Promise<StoredAutomation | undefined>;
  /** One transaction that no other change runs beside, in whichever gateway: all of it is kept, or nothing. */
  change<T>(work: (writer: AutomationWriter) => Promise<T>): Promise<T>;
  /** Every document of one moment in alphabetical order, as JSON texts, some at a time. Holds a reading connection until it ends. */
  export(): AsyncGenerator<readonly string[], void, undefined>;
}

export interface StoredAutomation {
  readonly automation: Automation;
  /** As it is kept and listed. */
  readonly text: string;
}

/** The catalogue within one change. */
export interface AutomationWriter {
  read(id: string): Promise<StoredAutomation | undefined>;
  /** Inserts in order, but for those whose `_id` or `name` is taken, by the store or by one before; these it answers. */
  insert(automations: readonly Automation[]): Promise<readonly Conflict[]>;
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

/** Documents of an export that are in memory at a time; one is 1 MiB at most. */
const exportedAtOnce = 50;
/** So that listings find a connection, however slowly exports are read. */
const exportsAtOnce = 2;
/** So that logins do, however much is searched: a search may take a second and all of a processor. */
const listingsAtOnce = 2;
/** Milliseconds that a listing waits for its turn. */
const listingWait = 10_000;
/** Sixteen columns each: well below the 32,766 parameters that SQLite takes in a statement. */
const insertedAtOnce = 50;

/** Only tests hand in other sizes, to reach with few documents what takes many. */
interface CatalogueSizes {
  /** Documents of a block of the alphabetical order. */
  readonly block: number;
  /** Matches of a search that are collected and sorted; where there are more, they stand close enough to walk in order. */
  readonly collected: number;
}

const usualSizes: CatalogueSizes = { block: 2_000, collected: 20_000 };

export function createAutomationStore(database: Database, sizes = usualSizes): AutomationStore {
  const { read } = database;
  let exporting = 0;
  const listings = new Semaphore(listingsAtOnce);
  return {
    list: (request) =>
      listings.run(() => listAutomations(database, request, sizes.collected), { limit: listingWait, late: tooManyListings }),
    read: (id) => readAutomation(read, id),
    change: (work) =>
      database.exclusively('automation', async (transaction) => {
        // Every statement of a change has its index. PostgreSQL, which has no statistics of what an import is just inserting, would
        // read the whole table instead, block after block.
        if (database.dialect === 'postgres') await sql`set local enable_seqscan = off`.execute(transaction);
        const { writer, finish } = createWriter(transaction, sizes.block);
        const result = await work(writer);
        await finish();
        return result;
      }),
    async *export() {
      if (exporting >= exportsAtOnce) throw tooManyExports();
      exporting += 1;
      try {
        yield* exportedFrom(read);
      } finally {
        exporting -= 1;
      }
    },
  };
}

async function* exportedFrom(read: Database['read']): AsyncGenerator<readonly string[], void, undefined> {
  const moment = await read.startTransaction().execute();
  try {
    let last: AlphabeticalPlace = { nameKey: new Uint8Array(), name: new Uint8Array() };
    for (;;) {
      const rows = await moment
        .selectFrom('automation')
        .select(['name_key', 'name', 'document'])
        .where(placed('>', last))
        .orderBy('name_key')
        .orderBy('name')
        .limit(exportedAtOnce)
        .execute();
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows.map(({ document }) => document);
      last = { nameKey: end.name_key, name: end.name };
    }
  } finally {
    await moment.rollback().execute();
  }
}

function tooManyListings(): GatewayError {
  const detail = `Listings are slow right now: this one waited its turn for ${listingWait / 1000} seconds; try again later.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}

function tooManyExports(): GatewayError {
  const detail = `${exportsAtOnce} exports are running already; try again when one has ended.`;
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '10' } });
}

async function readAutomation(query: Database['read'] | Transaction<Tables>, id: string): Promise<StoredAutomation | undefined> {
  const row = await query.selectFrom('automation').select('document').where('id', '=', exactKey(id)).executeTakeFirst();
  return row === undefined ? undefined : { automation: JSON.parse(row.document) as Automation, text: row.document };
}

function createWriter(
  transaction: Transaction<Tables>,
  blockSize: number,
): { readonly writer: AutomationWriter; readonly finish: () => Promise<void> } {
  const blocks = createBlockChanges(transaction, blockSize);
  const audiences = new Map<string, number>();
  const knownAudience = async (automation: Automation): Promise<number> => {
    const groups = readersOf(automation);
    const key = JSON.stringify(groups === undefined ? undefined : [...groups].sort()) ?? '';
    const audience = audiences.get(key) ?? (await audienceOf(transaction, groups));
    if (audiences.size < rememberedAudiences) audiences.set(key, audience);
    return audience;
  };
  const writer: AutomationWriter = {
    read: (id) => readAutomation(transaction, id),
    async insert(automations) {
      const conflicts: Conflict[] = [];
      for (let start = 0; start < automations.length; start += insertedAtOnce) {
        const batch = automations.slice(start, start + insertedAtOnce);
        const rows: Tables['automation'][] = [];
        for (const automation of batch) rows.push({ ...rowOf(automation), audience: await knownAudience(automation) });
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
          .returning(['name_key', 'name', 'audience'])
          .execute();
        removed += rows.length;
        for (const { name_key, name, audience } of rows) {
          await blocks.count({ place: { nameKey: name_key, name }, audience, documents: -1 });
        }
      }
      return removed;
    },
  };
  return { writer, finish: () => blocks.write() };
}

const rememberedAudiences = 10_000;

/** All at once; only where some are in the way, one by one, to learn which. */
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
      conflicts.push({ index, ...(await whatStandsInTheWay(transaction, row)) });
    }
  }
  return conflicts;
}

async function whatStandsInTheWay(
  transaction: Transaction<Tables>,
  { id, name }: Tables['automation'],
): Promise<Omit<Conflict, 'index'>> {
  const { rows } = await sql<{ id: Uint8Array }>`select id from automation where id = ${id} or name = ${name}
    order by case when id = ${id} then 0 else 1 end`.execute(transaction);
  const [holder] = rows;
  if (holder === undefined) throw new Error('An automation was not inserted, and nothing stands in its way.');
  return { field: Buffer.from(holder.id).equals(id) ? '_id' : 'name', takenBy: Buffer.from(holder.id).toString('utf8') };
}
