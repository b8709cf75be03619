import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migration.ts';
import type { Tables } from '../tables/tables.ts';

/**
 * Runs and the event log. What changes with each claim is in a small table of its own (`run_claim`) with few indexes. PostgreSQL writes
 * every index of a row whose indexed column changes.
 */
export const runTables: Migration = {
  number: 9,
  name: 'runs',
  part: 'records',
  async up(transaction, dialect) {
    await createRuns(transaction);
    await createClaims(transaction);
    await createTexts(transaction);
    await createCommands(transaction, dialect);
    await createEvents(transaction, dialect);
  },
};

async function createRuns(transaction: Transaction<Tables>): Promise<void> {
  await transaction.schema
    .createTable('run')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('automation', 'text')
    .addColumn('workflow', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('principal_digest', 'text', (column) => column.notNull())
    .addColumn('username_digest', 'text', (column) => column.notNull())
    .addColumn('parent', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('facts', 'text', (column) => column.notNull())
    .addColumn('error', 'text')
    .execute();
  await sql`create index run_by_time on run (created_at, id)`.execute(transaction);
  for (const column of ['automation', 'workflow', 'username_digest', 'status'] as const) {
    await sql`create index ${sql.ref(`run_by_${column}`)} on run (${sql.ref(column)}, created_at, id)`.execute(transaction);
  }
  await sql`create index run_by_parent on run (parent) where parent is not null`.execute(transaction);
  await sql`create index run_ended on run (ended_at) where ended_at is not null`.execute(transaction);
}

async function createClaims(transaction: Transaction<Tables>): Promise<void> {
  await transaction.schema
    .createTable('run_claim')
    .addColumn('run', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text')
    .addColumn('fence', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint')
    .addColumn('listens', 'integer', (column) => column.notNull())
    .addColumn('scanned', 'bigint', (column) => column.notNull())
    .addColumn('deaths', 'integer', (column) => column.notNull())
    .execute();
  await sql`create index run_claim_due on run_claim (due_at) where due_at is not null`.execute(transaction);
  await sql`create index run_claim_listening on run_claim (run) where listens = 1`.execute(transaction);
}

async function createTexts(transaction: Transaction<Tables>): Promise<void> {
  await transaction.schema
    .createTable('run_text')
    .addColumn('run', 'text', (column) => column.primaryKey())
    .addColumn('input', 'text', (column) => column.notNull())
    .addColumn('output', 'text')
    .execute();
  await transaction.schema
    .createTable('run_state')
    .addColumn('run', 'text', (column) => column.primaryKey())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('saved_at', 'bigint', (column) => column.notNull())
    .execute();
  await transaction.schema
    .createTable('run_value')
    .addColumn('run', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_value_pk', ['run', 'id'])
    .execute();
  await transaction.schema
    .createTable('run_task')
    .addColumn('run', 'text', (column) => column.notNull())
    .addColumn('activity', 'bigint', (column) => column.notNull())
    .addColumn('facts', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_task_pk', ['run', 'activity'])
    .execute();
}

async function createCommands(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  await sql`create table run_command (${numberColumn(dialect)}, run text not null, key text, command text not null,
    consumed integer not null)`.execute(transaction);
  await sql`create unique index run_command_key on run_command (run, key) where key is not null`.execute(transaction);
  await sql`create index run_command_by_run on run_command (run, number)`.execute(transaction);
}

async function createEvents(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  await sql`create table event_log (${numberColumn(dialect)}, at bigint not null, run text, automation text, kind text not null,
    identity text unique, event text not null)`.execute(transaction);
  await sql`create index event_log_by_run on event_log (run, number) where run is not null`.execute(transaction);
  await sql`create index event_log_messages on event_log (number) where kind = 'message'`.execute(transaction);
  await sql`create index event_log_messages_by_time on event_log (at) where kind = 'message'`.execute(transaction);
}

/** A number of SQLite does not come back after its row was deleted either. */
function numberColumn(dialect: 'sqlite' | 'postgres') {
  return dialect === 'sqlite'
    ? sql`number integer primary key autoincrement`
    : sql`number bigint generated always as identity primary key`;
}
