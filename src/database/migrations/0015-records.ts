import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migration.ts';
import type { Tables } from '../tables/tables.ts';

/** How the connection that takes over an earlier store of SQLite calls its file of runs (former-runs.ts). */
export const formerRunsSchema = 'former_runs';

/**
 * On SQLite the runs were in a third file, whose rows come into the tables of this file. The migrations get the times that they have there:
 * what was due before migration 10 does not run. Notes of runs are columns of automations since migration 14.
 */
export const recordTables: Migration = {
  number: 15,
  name: 'records',
  part: 'records',
  async up(transaction, dialect) {
    if (dialect === 'sqlite') await copyFormerRuns(transaction);
    await transaction.schema.dropTable('run_fact').execute();
  },
};

async function copyFormerRuns(transaction: Transaction<Tables>): Promise<void> {
  const former = sql.ref(formerRunsSchema);
  const { rows: files } = await sql`select 1 from pragma_database_list where name = ${formerRunsSchema}`.execute(transaction);
  if (files.length === 0) return;
  const { rows: tables } = await sql<{ readonly name: string }>`select name from ${former}.sqlite_schema
    where type = 'table' and name not like 'sqlite\\_%' escape '\\' and name <> 'run_fact'`.execute(transaction);
  if (tables.length === 0) return;
  for (const { name } of tables) {
    if (name === 'schema_migration') continue;
    const table = sql.ref(name);
    await sql`insert into main.${table} select * from ${former}.${table}`.execute(transaction);
  }
  await sql`update main.schema_migration as taken set applied_at = former.applied_at from ${former}.schema_migration as former
    where former.number = taken.number`.execute(transaction);
  if (tables.length === 1) return;
  // No number of a deleted event comes back: readers go on after the number that they know.
  await sql`delete from main.sqlite_sequence where name in (select name from ${former}.sqlite_sequence)`.execute(transaction);
  await sql`insert into main.sqlite_sequence select name, seq from ${former}.sqlite_sequence`.execute(transaction);
}
