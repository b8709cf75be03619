import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Why a run is suspended, who had a hand in it after its creation, and who sent an event. */
export const runPeople: Migration = {
  number: 36,
  name: 'people of runs',
  part: 'records',
  async up(transaction) {
    await sql`alter table run add column suspended_by text`.execute(transaction);
    await sql`alter table event_log add column senders text`.execute(transaction);
    await transaction.schema
      .createTable('run_person')
      .addColumn('run', 'text', (column) => column.notNull())
      .addColumn('principal_digest', 'text', (column) => column.notNull())
      .addColumn('involvement', 'text', (column) => column.notNull())
      .addColumn('facts', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('run_person_pk', ['run', 'principal_digest', 'involvement'])
      .execute();
  },
};
