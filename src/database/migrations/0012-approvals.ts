import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Approvals of calls and of tasks, in the part of the runs: a decision wakes the run that waits for it in the same transaction. */
export const approvalTables: Migration = {
  number: 12,
  name: 'approvals',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('approval')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('rules', 'text', (column) => column.notNull())
      .addColumn('run', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addColumn('caller_digest', 'text', (column) => column.notNull())
      .addColumn('facts', 'text', (column) => column.notNull())
      .addColumn('body', 'bytea')
      .addColumn('preview', 'text')
      .addColumn('used_by', 'text')
      .addColumn('unannounced', 'integer', (column) => column.notNull())
      .execute();
    const open = sql`status in ('waiting', 'granted')`;
    await sql`create unique index approval_open on approval (subject, rules) where ${open}`.execute(transaction);
    await sql`create index approval_by_subject on approval (subject, created_at)`.execute(transaction);
    await sql`create index approval_by_time on approval (created_at, id)`.execute(transaction);
    await sql`create index approval_by_status on approval (status, created_at, id)`.execute(transaction);
    await sql`create index approval_by_run on approval (run) where run is not null`.execute(transaction);
    await sql`create index approval_expiry on approval (expires_at) where ${open}`.execute(transaction);
    await sql`create index approval_of_caller on approval (caller_digest) where ${open}`.execute(transaction);
    await sql`create index approval_over on approval (changed_at) where not (${open})`.execute(transaction);
    await sql`create index approval_unannounced on approval (id) where unannounced = 1`.execute(transaction);
    await transaction.schema
      .createTable('approval_key')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('secret', 'bytea', (column) => column.notNull())
      .execute();
    await sql`create index event_log_gateway on event_log (at) where kind = 'lifecycle' and run is null`.execute(transaction);
  },
};
