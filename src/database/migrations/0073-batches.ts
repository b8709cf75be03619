import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migration.ts';
import type { Tables } from '../tables/tables.ts';

/**
 * The batches of runs, and their items. Runs of a batch are in no list by default, so the indexes of lists leave them out. A run with 20,000
 * of them costs a list nothing.
 */
export const batches: Migration = {
  number: 73,
  name: 'batches',
  part: 'records',
  async up(transaction) {
    await createBatches(transaction);
    await createItems(transaction);
    await sql`alter table run add column in_batch text`.execute(transaction);
    await sql`alter table run add column is_undecided integer not null default 0`.execute(transaction);
    await sql`create index run_listed on run (created_at, id) where in_batch is null`.execute(transaction);
    for (const column of ['automation', 'workflow', 'username_digest', 'status']) {
      const name = sql.ref(`run_by_${column}`);
      await sql`drop index ${name}`.execute(transaction);
      await sql`create index ${name} on run (${sql.ref(column)}, created_at, id) where in_batch is null`.execute(transaction);
    }
    await sql`drop index run_by_parent`.execute(transaction);
    await sql`create index run_by_parent on run (parent, created_at, id) where parent is not null`.execute(transaction);
    // Of one person, what was begun by hand comes before the items of a batch.
    await sql`alter table run_claim add column in_batch integer not null default 0`.execute(transaction);
    await sql`drop index run_claim_by_person`.execute(transaction);
    await sql`create index run_claim_by_person on run_claim (person, in_batch, due_at) where due_at is not null`.execute(
      transaction,
    );
  },
};

async function createBatches(transaction: Transaction<Tables>): Promise<void> {
  let table = transaction.schema
    .createTable('run_batch')
    .addColumn('run', 'text', (column) => column.notNull())
    .addColumn('activity', 'bigint', (column) => column.notNull())
    .addColumn('attempt', 'bigint', (column) => column.notNull());
  for (const name of ['reference', 'turn', 'workflow', 'version', 'failures', 'state'] as const)
    table = table.addColumn(name, 'text', (column) => column.notNull());
  for (const name of ['parallel', 'canary', 'total', 'last_item', 'began_at'] as const)
    table = table.addColumn(name, 'bigint', (column) => column.notNull());
  for (const name of ['open', 'completed', 'failed', 'unknown', 'cancelled', 'not_started'] as const)
    table = table.addColumn(name, 'bigint', (column) => column.notNull());
  await table
    .addColumn('digest', 'text')
    .addColumn('stop_after', 'bigint')
    .addColumn('undecided_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addPrimaryKeyConstraint('run_batch_key', ['run', 'activity', 'attempt'])
    .execute();
}

async function createItems(transaction: Transaction<Tables>): Promise<void> {
  await transaction.schema
    .createTable('run_batch_item')
    .addColumn('run', 'text', (column) => column.notNull())
    .addColumn('activity', 'bigint', (column) => column.notNull())
    .addColumn('attempt', 'bigint', (column) => column.notNull())
    .addColumn('item', 'bigint', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('run_status', 'text')
    .addColumn('undecided', 'bigint', (column) => column.notNull())
    .addColumn('child', 'text')
    .addColumn('output', 'text')
    .addColumn('error', 'text')
    .addColumn('is_cut', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_batch_item_key', ['run', 'activity', 'attempt', 'item'])
    .execute();
  await sql`create index run_batch_item_by_status on run_batch_item (run, activity, attempt, status, item)`.execute(transaction);
}
