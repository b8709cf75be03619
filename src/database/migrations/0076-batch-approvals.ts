import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Approvals that are for all calls of a batch at one task: what waits for them, and their uses. */
export const batchApprovals: Migration = {
  number: 76,
  name: 'batch-approvals',
  part: 'records',
  async up(transaction) {
    await sql`alter table approval add column batch text`.execute(transaction);
    await sql`alter table approval add column holds_until bigint`.execute(transaction);
    await transaction.schema
      .createTable('approval_waiter')
      .addColumn('approval', 'text', (column) => column.notNull())
      .addColumn('run', 'text', (column) => column.notNull())
      .addColumn('activity', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('approval_waiter_key', ['approval', 'run', 'activity'])
      .execute();
    await sql`create index approval_waiter_by_run on approval_waiter (run, activity)`.execute(transaction);
    await transaction.schema
      .createTable('approval_use')
      .addColumn('approval', 'text', (column) => column.notNull())
      .addColumn('item', 'bigint', (column) => column.notNull())
      .addColumn('place', 'text', (column) => column.notNull())
      .addColumn('use', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('approval_use_key', ['approval', 'item', 'place'])
      .execute();
  },
};
