import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { jsonRows } from '#database/json-rows.ts';
import { type MadeEntry, storable } from '../audit-entry.ts';

type Dialect = Database['dialect'];

const columns = {
  chain: 'text',
  seq: 'bigint',
  at: 'bigint',
  owner: 'text',
  size: 'bigint',
  is_cut: 'bigint',
  body: 'text',
} as const;

/** Bytes in the store for one body in addition to its text: the other columns and three indexes. */
const overhead = 400;
/** Bodies that one statement deletes. */
const deletedAtOnce = 500;

export function sizeOfBody(text: string): number {
  return Buffer.byteLength(text) + overhead;
}

export function bodiesAdded(
  dialect: Dialect,
  entries: readonly MadeEntry[],
  condition: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const rows = entries.flatMap(({ chain, seq, at, body }) =>
    body === undefined ? [] : [[chain, seq, at, storable(body.owner), sizeOfBody(body.text), body.isCut ? 1 : 0, body.text]],
  );
  return sql`insert into audit_body (chain, seq, at, owner, size, is_cut, body) select * from ${jsonRows(dialect, columns, rows)}
    where ${condition}`;
}

/** Bytes by owner. */
export async function sizesOfBodies({
  read,
}: Pick<Database, 'read'>): Promise<readonly (readonly [owner: string, size: number])[]> {
  const { rows } = await sql<{ readonly owner: string; readonly size: number }>`
    select owner, cast(sum(size) as bigint) as size from audit_body group by owner`.execute(read);
  return rows.map(({ owner, size }) => [owner, size]);
}

/** Deletes the oldest bodies, of one owner or of all, until so many bytes are free. Answers the bytes by owner. */
export async function deleteOldestBodies(
  { records, dialect }: Database,
  { owner, size }: { readonly owner: string | undefined; readonly size: number },
): Promise<ReadonlyMap<string, number>> {
  const freed = new Map<string, number>();
  const ofOwner = owner === undefined ? sql`1 = 1` : sql`owner = ${storable(owner)}`;
  for (let left = size; left > 0; ) {
    const { rows } = await sql<{ readonly chain: string; readonly seq: number; readonly owner: string; readonly size: number }>`
      select chain, seq, owner, size from audit_body where ${ofOwner} order by at, chain, seq limit ${deletedAtOnce}`.execute(
      records,
    );
    const oldest = [];
    for (const row of rows) {
      if (left <= 0) break;
      left -= row.size;
      freed.set(row.owner, (freed.get(row.owner) ?? 0) + row.size);
      oldest.push([row.chain, row.seq]);
    }
    if (oldest.length === 0) break;
    const given = jsonRows(dialect, { chain: 'text', seq: 'bigint' }, oldest);
    await sql`delete from audit_body where (chain, seq) in (select chain, seq from ${given})`.execute(records);
  }
  return freed;
}

export interface StoredBody {
  readonly seq: number;
  readonly is_cut: number;
  readonly body: string;
}

/** Bodies that one statement reads: a megabyte at most. */
const readAtOnce = 16;

/** The bodies of the entries with these numbers, in order, some at once. */
export async function* bodiesAmong(
  { read }: Pick<Database, 'read'>,
  { chain, from, to }: { readonly chain: string; readonly from: number; readonly to: number },
): AsyncGenerator<readonly StoredBody[], void, undefined> {
  for (let next = from; ; ) {
    const { rows } = await sql<StoredBody>`select seq, is_cut, body from audit_body
      where chain = ${chain} and seq between ${next} and ${to} order by seq limit ${readAtOnce}`.execute(read);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < readAtOnce) return;
    next = last.seq + 1;
  }
}

/** The body of an intent, and the facts of that. */
export async function readBody(
  { read }: Pick<Database, 'read'>,
  { chain, seq }: { readonly chain: string; readonly seq: number },
): Promise<{ readonly body: string; readonly isCut: boolean; readonly facts: string } | undefined> {
  const { rows } = await sql<{ readonly body: string; readonly is_cut: number; readonly facts: string }>`
    select b.body, b.is_cut, e.facts from audit_body b join audit_entry e on e.chain = b.chain and e.seq = b.seq
    where b.chain = ${chain} and b.seq = ${seq}`.execute(read);
  const [row] = rows;
  return row && { body: row.body, isCut: row.is_cut === 1, facts: row.facts };
}
