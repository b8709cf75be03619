import type { Migration } from '../migration.ts';

/** The forms of automations. */
export const formTable: Migration = {
  number: 11,
  name: 'forms',
  part: 'main',
  async up(transaction) {
    await transaction.schema
      .createTable('form')
      .addColumn('id', 'bytea', (column) => column.notNull().primaryKey())
      .addColumn('document', 'bytea', (column) => column.notNull())
      .addColumn('facts', 'text', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .execute();
  },
};
