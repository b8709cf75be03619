import { type Kysely, type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { countedFor, forgetEmpty, type Viewer, visibleTo, wholeCatalogue } from './automation-audience-store.ts';

/** `wholeCatalogue` as a literal of SQL. */
const whole = sql.lit(wholeCatalogue);

/** A place in the alphabetical order: before every name with a greater key, or the same key and a greater exact name. */
export interface AlphabeticalPlace {
  readonly nameKey: Uint8Array;
  readonly name: Uint8Array;
}

/** How many documents the viewer sees before `place`, or in all where `place` is undefined. Reads the counts, and at most one block. */
export async function rankOf(
  read: Kysely<Tables>,
  { viewer, place }: { readonly viewer: Viewer; readonly place: AlphabeticalPlace | undefined },
): Promise<number> {
  const counted = sql`select cast(coalesce(sum(documents), 0) as bigint) as documents from automation_block where ${countedFor(viewer)}`;
  if (place === undefined) return single(await sql<Count>`${counted}`.execute(read));
  const { start } = await blockAt(read, place);
  const before = single(await sql<Count>`${counted} and ${placed('<', start)}`.execute(read));
  const inside = await sql<Count>`select count(*) as documents from automation
    where ${placed('>=', start)} and ${placed('<', place)} and ${visibleTo(viewer) ?? sql`1 = 1`}`.execute(read);
  return before + single(inside);
}

interface Count {
  readonly documents: number;
}

function single({ rows }: { readonly rows: readonly Count[] }): number {
  return rows[0]?.documents ?? 0;
}

/** The condition that a row of `automation` or `automation_block` is before or after a place. */
export function placed(operator: '<' | '<=' | '>' | '>=', { nameKey, name }: AlphabeticalPlace): RawBuilder<SqlBool> {
  return sql<SqlBool>`(name_key, name) ${sql.raw(operator)} (${nameKey}, ${name})`;
}

/** Where to start reading for the document at `position` (from 0) among those that the viewer sees, and how many of them are before. */
export async function seek(
  read: Kysely<Tables>,
  { viewer, position }: { readonly viewer: Viewer; readonly position: number },
): Promise<{ readonly start: AlphabeticalPlace; readonly before: number }> {
  if (position === 0) return theBeginning;
  const { rows } = await sql<{ name_key: Uint8Array; name: Uint8Array; before: number }>`
    select name_key, name, cast(before as bigint) as before from (
      select name_key, name, sum(documents) over (order by name_key, name) - documents as before from (
        select name_key, name, sum(documents) as documents from automation_block
        where ${countedFor(viewer)} group by name_key, name
      ) as block
    ) as place where before <= ${position} order by name_key desc, name desc limit 1`.execute(read);
  const [found] = rows;
  if (found === undefined) return theBeginning;
  return { start: { nameKey: found.name_key, name: found.name }, before: found.before };
}

const theBeginning = { start: { nameKey: new Uint8Array(), name: new Uint8Array() }, before: 0 };

interface Block {
  readonly start: AlphabeticalPlace;
  /** Where the next block starts; undefined for the last one. */
  readonly end: AlphabeticalPlace | undefined;
}

async function blockAt(query: Kysely<Tables>, place: AlphabeticalPlace): Promise<Block> {
  const found = sql`select name_key, name from automation_block where audience = ${whole}`;
  const before = await sql<PlaceRow>`${found} and ${placed('<=', place)} order by name_key desc, name desc limit 1`.execute(
    query,
  );
  const behind = await sql<PlaceRow>`${found} and ${placed('>', place)} order by name_key, name limit 1`.execute(query);
  const start = placeOf(before.rows[0]);
  if (start === undefined) throw new Error('The first block of the catalogue is missing.');
  return { start, end: placeOf(behind.rows[0]) };
}

interface PlaceRow {
  readonly name_key: Uint8Array;
  readonly name: Uint8Array;
}

function placeOf(row: PlaceRow | undefined): AlphabeticalPlace | undefined {
  return row === undefined ? undefined : { nameKey: row.name_key, name: row.name };
}

/** Updates the blocks for what one transaction inserts and removes. */
export interface BlockChanges {
  count(change: { readonly place: AlphabeticalPlace; readonly audience: number; readonly documents: 1 | -1 }): Promise<void>;
  /** Writes the counts of a block that grew large, so that no step of a long import is long. Call it when every insert is counted. */
  writeLarge(): Promise<void>;
  /** Writes the other counts. Call it before the transaction ends. */
  write(): Promise<void>;
}

interface ChangedBlock extends Block {
  readonly byAudience: Map<number, number>;
}

/** `blockSize` in documents: a block that has twice as many is split. */
export function createBlockChanges(transaction: Transaction<Tables>, blockSize: number): BlockChanges {
  // In alphabetical order. The rows of the blocks stay unchanged until the end, so that a block that was found keeps its range.
  const blocks: ChangedBlock[] = [];
  const shrunk = new Set<number>();
  const blockOf = async (place: AlphabeticalPlace): Promise<ChangedBlock> => {
    const index = lastAtOrBefore(blocks, place);
    const known = blocks[index];
    if (known !== undefined && (known.end === undefined || compare(place, known.end) < 0)) return known;
    const found = { ...(await blockAt(transaction, place)), byAudience: new Map<number, number>() };
    blocks.splice(index + 1, 0, found);
    return found;
  };
  return {
    async count({ place, audience, documents }) {
      if (documents < 0) shrunk.add(audience);
      const { byAudience } = await blockOf(place);
      for (const each of [audience, wholeCatalogue]) byAudience.set(each, (byAudience.get(each) ?? 0) + documents);
    },
    async writeLarge() {
      for (const [index, block] of blocks.entries()) {
        if ((block.byAudience.get(wholeCatalogue) ?? 0) < largeBlocks * blockSize) continue;
        await writeBlock(transaction, block, blockSize);
        blocks.splice(index, 1);
        return;
      }
    },
    async write() {
      for (const block of blocks) await writeBlock(transaction, block, blockSize);
      await forgetEmpty(transaction, [...shrunk]);
    },
  };
}

const largeBlocks = 10;

async function writeBlock(transaction: Transaction<Tables>, block: ChangedBlock, blockSize: number): Promise<void> {
  await add(transaction, block);
  await splitOrDrop(transaction, block, blockSize);
}

/** The index of the last block that starts at or before the place; -1 where none does. */
function lastAtOrBefore(blocks: readonly Block[], place: AlphabeticalPlace): number {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const block = blocks[middle];
    if (block !== undefined && compare(block.start, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function compare(a: AlphabeticalPlace, b: AlphabeticalPlace): number {
  return Buffer.compare(a.nameKey, b.nameKey) || Buffer.compare(a.name, b.name);
}

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const audiencesAtOnce = 500;

async function add(transaction: Transaction<Tables>, { start, byAudience }: ChangedBlock): Promise<void> {
  const changed = [...byAudience].filter(([, documents]) => documents !== 0);
  for (let first = 0; first < changed.length; first += audiencesAtOnce) {
    const rows = changed
      .slice(first, first + audiencesAtOnce)
      .map(([audience, documents]) => ({ audience, name_key: start.nameKey, name: start.name, documents }));
    await transaction
      .insertInto('automation_block')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['audience', 'name_key', 'name']).doUpdateSet({
          documents: sql<number>`automation_block.documents + excluded.documents`,
        }),
      )
      .execute();
  }
}

/** Deletes the rows of an empty block, whose range the block before takes, and splits a block that grew too large. */
async function splitOrDrop(transaction: Transaction<Tables>, block: ChangedBlock, blockSize: number): Promise<void> {
  const { start, end } = block;
  const here = sql`name_key = ${start.nameKey} and name = ${start.name}`;
  const isFirst = start.nameKey.length === 0 && start.name.length === 0;
  await sql`delete from automation_block where ${here} and documents = 0 ${isFirst ? sql`and audience <> ${whole}` : sql``}
    and audience in (${sql.join([...block.byAudience.keys()])})`.execute(transaction);
  const { rows } = await sql<Count>`select documents from automation_block where audience = ${whole} and ${here}`.execute(
    transaction,
  );
  if (single({ rows }) < 2 * blockSize) return;
  const range = sql`${placed('>=', start)} ${end === undefined ? sql`` : sql`and ${placed('<', end)}`}`;
  const cuts = await sql<PlaceRow>`select name_key, name from (
      select name_key, name, row_number() over (order by name_key, name) as number from automation where ${range}
    ) as numbered where number > 1 and number % ${blockSize} = 1 order by name_key, name`.execute(transaction);
  await sql`delete from automation_block where ${here}`.execute(transaction);
  const starts = [start, ...cuts.rows.map(({ name_key, name }) => ({ nameKey: name_key, name }))];
  for (const [index, piece] of starts.entries()) await recount(transaction, { start: piece, end: starts[index + 1] ?? end });
}

async function recount(transaction: Transaction<Tables>, { start, end }: Block): Promise<void> {
  const range = sql`${placed('>=', start)} ${end === undefined ? sql`` : sql`and ${placed('<', end)}`}`;
  const insert = sql`insert into automation_block (audience, name_key, name, documents)`;
  await sql`${insert} select audience, ${start.nameKey}, ${start.name}, count(*) from automation where ${range}
    group by audience`.execute(transaction);
  await sql`${insert} select ${whole}, ${start.nameKey}, ${start.name}, count(*) from automation where ${range}`.execute(
    transaction,
  );
}
