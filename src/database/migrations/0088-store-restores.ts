import type { Migration } from '../migration.ts';

/** When the store was restored from a backup, until a gateway has marked it as one that lost commits (backup/store-restore.ts). */
export const storeRestores: Migration = {
  number: 88,
  name: 'store-restores',
  part: 'records',
  lowest: '0.1.0',
  async up(transaction) {
    await transaction.schema
      .createTable('store_restore')
      // A backup that is older than this migration has it from its restoration.
      .ifNotExists()
      .addColumn('at', 'bigint', (column) => column.notNull().primaryKey())
      .execute();
  },
};
