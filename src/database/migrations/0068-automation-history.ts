import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** What people changed of automations. An automation that was there before has no entry until its next change. */
export const automationHistory: Migration = {
  number: 68,
  name: 'automation-history',
  part: 'main',
  async up(transaction, dialect) {
    // A number of SQLite does not come back after its row was deleted either.
    const number =
      dialect === 'sqlite'
        ? sql`number integer primary key autoincrement`
        : sql`number bigint generated always as identity primary key`;
    const bytes = dialect === 'sqlite' ? sql`blob` : sql`bytea`;
    await sql`create table automation_history (${number}, automation_id ${bytes} not null, at bigint not null, change text not null,
      principal text not null, principal_digest text not null, document text not null, bytes bigint not null)`.execute(
      transaction,
    );
    await sql`create index automation_history_by_automation on automation_history (automation_id, number)`.execute(transaction);
    await sql`create index automation_history_by_principal on automation_history (principal_digest)`.execute(transaction);
    await sql`create index automation_history_deleted on automation_history (at) where change = 'deleted'`.execute(transaction);
  },
};
