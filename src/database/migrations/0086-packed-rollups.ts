import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * One row has what the rollups of one subject and time have, once that time is over. The upkeep moves rows here, also those of before this
 * migration. People who see some of the automations are answered from few rows.
 */
export const packedRollups: Migration = {
  number: 86,
  name: 'packed-rollups',
  part: 'records',
  lowest: '0.1.0',
  async up(transaction, dialect) {
    const rows = dialect === 'sqlite' ? sql`without rowid` : sql``;
    await sql`create table rollup_packed (kind text not null, grain bigint not null, subject text not null, at bigint not null,
      ends text not null, primary key (kind, grain, subject, at)) ${rows}`.execute(transaction);
  },
};
