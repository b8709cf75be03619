import type { Migration } from '../migration.ts';

/**
 * What runs noted of automations. On SQLite this table is in a file of its own. An import has the write lock of the catalogue for seconds,
 * and would hold up runs.
 */
export const runFactTable: Migration = {
  number: 7,
  name: 'run-facts',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('run_fact')
      .addColumn('automation_id', 'bytea', (column) => column.notNull())
      .addColumn('field', 'text', (column) => column.notNull())
      .addColumn('revision', 'bigint', (column) => column.notNull())
      .addColumn('at_key', 'bytea')
      .addPrimaryKeyConstraint('run_fact_pk', ['automation_id', 'field', 'revision'])
      .execute();
  },
};
