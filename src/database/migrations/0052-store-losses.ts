import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Commits that the store lost, as gateways noticed, and the runs that were under way then. */
export const storeLosses: Migration = {
  number: 52,
  name: 'store-losses',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('store_loss')
      .addColumn('chain', 'text', (column) => column.notNull())
      .addColumn('to_seq', 'bigint', (column) => column.notNull())
      .addColumn('records', 'bigint', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('last_event', 'bigint', (column) => column.notNull())
      .addColumn('holds', 'integer', (column) => column.notNull())
      .addColumn('released_at', 'bigint')
      .addPrimaryKeyConstraint('store_loss_key', ['chain', 'to_seq'])
      .execute();
    await sql`alter table run_claim add column loss integer not null default 0`.execute(transaction);
  },
};
