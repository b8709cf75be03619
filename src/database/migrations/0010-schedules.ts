import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** What schedules decided: once for each due time. Times that lay before this migration do not run (`schema_migration.applied_at`). */
export const scheduleTables: Migration = {
  number: 10,
  name: 'schedules',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('occurrence')
      .addColumn('automation_id', 'bytea', (column) => column.notNull())
      .addColumn('due', 'bigint', (column) => column.notNull())
      .addColumn('run_id', 'text')
      .addColumn('decided_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('occurrence_pk', ['automation_id', 'due'])
      .execute();
    await transaction.schema.createIndex('occurrence_by_decided_at').on('occurrence').column('decided_at').execute();
    await transaction.schema
      .createTable('scheduled_run')
      .addColumn('automation_id', 'bytea', (column) => column.primaryKey())
      .addColumn('run_id', 'text')
      .execute();
    // Finds what is due among any number of notes.
    await sql`create index run_fact_by_time on run_fact (field, at_key, automation_id)`.execute(transaction);
  },
};
