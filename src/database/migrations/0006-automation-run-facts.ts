import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * Takes `lastRunAt` and `nextRunAt` out of the documents, since a document has only what its ETag covers. What the owner wrote last is
 * in the key columns, which exist since migration 3. The revisions say which notes of runs (migration 7) are newer.
 */
export const automationRunFacts: Migration = {
  number: 6,
  name: 'automation-run-facts',
  part: 'main',
  async up(transaction, dialect) {
    for (const column of ['last_run_revision', 'next_run_revision']) {
      await transaction.schema
        .alterTable('automation')
        .addColumn(column, 'bigint', (added) => added.notNull().defaultTo(0))
        .execute();
    }
    // One statement, for any number of documents. A timestamp and its key (sort-key.ts) differ in case alone. JSON escapes each quotation
    // mark of a text, so that only the member itself has these characters in a row.
    const member = (name: string, column: string) => {
      const key = sql.ref(column);
      const text = dialect === 'postgres' ? sql`convert_from(${key}, 'UTF8')` : sql`cast(${key} as text)`;
      return sql`coalesce(${sql.lit(`,"${name}":"`)} || upper(${text}) || '"', '')`;
    };
    // PostgreSQL and SQLite both answer the text as it is where an empty text is to be replaced.
    await sql`update automation set document = replace(replace(document, ${member('lastRunAt', 'last_run_at_key')}, ''),
      ${member('nextRunAt', 'next_run_at_key')}, '')
      where last_run_at_key is not null or next_run_at_key is not null`.execute(transaction);
  },
};
