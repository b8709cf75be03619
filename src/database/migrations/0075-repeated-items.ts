import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Items of batches that another run repeats. That run has copies of them, since the repeated run may be deleted before its batch begins. */
export const repeatedItems: Migration = {
  number: 75,
  name: 'repeated-items',
  part: 'records',
  async up(transaction) {
    for (const column of ['outermost', 'place'])
      await sql`alter table run_batch add column ${sql.ref(column)} text not null default ''`.execute(transaction);
    await sql`create index run_batch_by_outermost on run_batch (outermost)`.execute(transaction);
    await sql`alter table run_batch_item add column taken_by text`.execute(transaction);
    await sql`alter table run add column rest_taken_by text`.execute(transaction);
    await transaction.schema
      .createTable('run_repeated_place')
      .addColumn('run', 'text', (column) => column.notNull())
      .addColumn('place', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('run_repeated_place_key', ['run', 'place'])
      .execute();
    await transaction.schema
      .createTable('run_repeated_item')
      .addColumn('run', 'text', (column) => column.notNull())
      .addColumn('place', 'text', (column) => column.notNull())
      .addColumn('item', 'bigint', (column) => column.notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('run_repeated_item_key', ['run', 'place', 'item'])
      .execute();
  },
};
