import type { Migration } from '../migration.ts';

/** Signing keys, revoked tokens and the login throttle. */
export const accessTables: Migration = {
  number: 1,
  name: 'access',
  part: 'main',
  async up(transaction) {
    await transaction.schema
      .createTable('signing_key')
      .addColumn('kid', 'text', (column) => column.primaryKey())
      .addColumn('private_jwk', 'text', (column) => column.notNull())
      .addColumn('public_jwk', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('retired_at', 'bigint')
      .execute();
    await transaction.schema
      .createTable('revoked_token')
      .addColumn('jti', 'text', (column) => column.primaryKey())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    await transaction.schema.createIndex('revoked_token_expiry').on('revoked_token').column('expires_at').execute();
    await transaction.schema
      .createTable('login_failure')
      .addColumn('subject', 'text', (column) => column.primaryKey())
      .addColumn('failures', 'text', (column) => column.notNull())
      .addColumn('waits', 'integer', (column) => column.notNull())
      .addColumn('blocked_until', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    await transaction.schema.createIndex('login_failure_expiry').on('login_failure').column('expires_at').execute();
  },
};
