import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Notifications and their receivers, in the part with the event log; and what was said of the health of adapter instances. */
export const notificationTables: Migration = {
  number: 13,
  name: 'notifications',
  part: 'records',
  async up(transaction, dialect) {
    await transaction.schema
      .createTable('notification_receiver')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('disabled_at', 'bigint')
      .execute();
    const number =
      dialect === 'sqlite'
        ? sql`number integer primary key autoincrement`
        : sql`number bigint generated always as identity primary key`;
    await sql`create table notification (${number}, receiver text not null, event bigint not null, webhook_id text not null,
      type text not null, body text not null, status text not null, attempts integer not null, created_at bigint not null,
      due_at bigint, ended_at bigint, last_status integer, last_code text)`.execute(transaction);
    await sql`create unique index notification_once on notification (receiver, event)`.execute(transaction);
    await sql`create index notification_due on notification (receiver, due_at) where due_at is not null`.execute(transaction);
    await sql`create index notification_by_receiver on notification (receiver, number)`.execute(transaction);
    await sql`create index notification_by_status on notification (status, number)`.execute(transaction);
    await sql`create index notification_by_time on notification (created_at)`.execute(transaction);
    await transaction.schema
      .createTable('adapter_health')
      .addColumn('adapter', 'text', (column) => column.primaryKey())
      .addColumn('is_down', 'integer', (column) => column.notNull())
      .addColumn('changes', 'bigint', (column) => column.notNull())
      .execute();
  },
};
