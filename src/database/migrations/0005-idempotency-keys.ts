import type { Migration } from '../migration.ts';

/**
 * Idempotency keys and the outcomes of their calls. They share the transactions of the audit log: one takes the key and records the intent
 * of its call. Another records the outcome and stores the reply.
 */
export const idempotencyKeyTable: Migration = {
  number: 5,
  name: 'idempotency-keys',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('idempotency_key')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('chain', 'text', (column) => column.notNull())
      .addColumn('call', 'bigint', (column) => column.notNull())
      .addColumn('taken_at', 'bigint', (column) => column.notNull())
      .addColumn('state', 'text')
      .addColumn('reply', 'text')
      .execute();
    await transaction.schema.createIndex('idempotency_key_by_call').on('idempotency_key').columns(['chain', 'call']).execute();
    await transaction.schema.createIndex('idempotency_key_by_age').on('idempotency_key').column('taken_at').execute();
  },
};
