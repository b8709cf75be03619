import { sql, type Transaction } from 'kysely';
import type { Tables } from '../tables/tables.ts';

/** Adds the column `lowest` (../row-version.ts) to these tables. Usually no row has more than 0, so the index has none. */
export async function addLowest(transaction: Transaction<Tables>, tables: readonly (keyof Tables)[]): Promise<void> {
  for (const table of tables) {
    await sql`alter table ${sql.table(table)} add column lowest integer not null default 0`.execute(transaction);
    await sql`create index ${sql.id(`${table}_lowest`)} on ${sql.table(table)} (lowest) where lowest > 0`.execute(transaction);
  }
}
