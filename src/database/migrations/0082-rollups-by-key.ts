import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * PostgreSQL took the index by time for questions about few subjects, and read the rows of all. The key serves every question. There it has the
 * whole row, so that the rows of a subject are next to each other, as SQLite stores them. The table itself has them in the order of time.
 * PostgreSQL answers from the key alone what it has vacuumed.
 */
export const rollupsByKey: Migration = {
  number: 82,
  name: 'rollups-by-key',
  part: 'records',
  async up(transaction, dialect) {
    await sql`drop index rollup_by_time`.execute(transaction);
    if (dialect === 'sqlite') return;
    await sql`alter table rollup drop constraint rollup_pkey,
      add primary key (kind, grain, subject, at, status, bucket, gateway) include (ends, longest)`.execute(transaction);
    await sql`alter table rollup set (autovacuum_vacuum_insert_scale_factor = 0.02)`.execute(transaction);
  },
};
