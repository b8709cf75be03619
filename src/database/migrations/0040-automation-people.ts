import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * The people who answer for automations, and what a listing filters by. Of a document that was there before, no person is known (`people` is
 * null): it does not run until a person takes it.
 */
export const automationPeople: Migration = {
  number: 40,
  name: 'automation-people',
  part: 'main',
  async up(transaction, dialect) {
    await transaction.schema.alterTable('automation_text').addColumn('people', 'text').execute();
    await transaction.schema
      .alterTable('automation')
      .addColumn('held', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
    await transaction.schema
      .createTable('automation_person')
      .addColumn('number', dialect === 'sqlite' ? 'integer' : 'bigint', (column) =>
        column.notNull().references('automation.number').onDelete('cascade'),
      )
      .addColumn('kind', 'text', (column) => column.notNull())
      // `bytea` holds bytes in either dialect.
      .addColumn('name', 'bytea', (column) => column.notNull())
      .execute();
    await sql`create index automation_person_name on automation_person (kind, name, number)`.execute(transaction);
    await sql`create index automation_person_automation on automation_person (number)`.execute(transaction);
  },
};
