import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * How many runs and calls ended when, and how long they took. What ended before is not counted. The total of all subjects has rows of its own.
 * Those of a subject are next to each other.
 */
export const rollups: Migration = {
  number: 69,
  name: 'rollups',
  part: 'records',
  async up(transaction, dialect) {
    const rows = dialect === 'sqlite' ? sql`without rowid` : sql`with (fillfactor = 70)`;
    await sql`create table rollup (kind text not null, grain bigint not null, subject text not null, at bigint not null,
      status text not null, bucket bigint not null, gateway text not null, ends bigint not null, longest bigint not null,
      primary key (kind, grain, subject, at, status, bucket, gateway)) ${rows}`.execute(transaction);
    // Retention deletes by time.
    await sql`create index rollup_by_time on rollup (kind, grain, at)`.execute(transaction);
  },
};
