import type { Migration } from '../migration.ts';

/** Persons of issuers between their logins. */
export const knownPersonTable: Migration = {
  number: 45,
  name: 'known-persons',
  part: 'main',
  async up(transaction) {
    await transaction.schema
      .createTable('known_person')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .addColumn('claims', 'text', (column) => column.notNull())
      .execute();
    await transaction.schema.createIndex('known_person_seen').on('known_person').column('seen_at').execute();
  },
};
