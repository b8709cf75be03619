import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migration.ts';
import type { Tables } from '../tables/tables.ts';

/** `bytea` holds bytes in either dialect: SQLite keeps a blob as it is in a column of any type. */
const key = 'bytea';

/** The fields other than the name that a listing can be sorted by. */
const sortedBy = [
  'id_key',
  'last_modified_by_key',
  'last_run_at_key',
  'next_run_at_key',
  'repeat_interval_key',
  'description_start',
  'workflow_id_key',
  'form_id_key',
  'last_updated_key',
] as const;

/**
 * The catalogue as it is filled and listed at any size. The tables of migration 2 are dropped with their rows: no gateway could
 * write to them. Every index has all columns that a listing needs, so that only the documents of the page itself are fetched.
 */
export const automationCatalogueTables: Migration = {
  number: 3,
  name: 'automation-catalogue',
  part: 'main',
  async up(transaction, dialect) {
    await transaction.schema.dropTable('automation_group').execute();
    await transaction.schema.dropTable('automation').execute();
    await createAudiences(transaction);
    await createAutomations(transaction, dialect);
    await createBlocks(transaction);
  },
};

async function createAudiences(transaction: Transaction<Tables>): Promise<void> {
  await transaction.schema
    .createTable('automation_audience')
    .addColumn('audience', 'integer', (column) => column.primaryKey())
    .addColumn('digest', key, (column) => column.notNull().unique())
    .execute();
  await transaction.schema
    .createTable('automation_audience_group')
    .addColumn('group_name', key, (column) => column.notNull())
    .addColumn('audience', 'integer', (column) => column.notNull().references('automation_audience.audience').onDelete('cascade'))
    .addPrimaryKeyConstraint('automation_audience_group_pk', ['group_name', 'audience'])
    .execute();
  await transaction.schema
    .createIndex('automation_audience_group_audience')
    .on('automation_audience_group')
    .column('audience')
    .execute();
}

async function createAutomations(transaction: Transaction<Tables>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  await transaction.schema
    .createTable('automation')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('name', key, (column) => column.notNull().unique())
    .addColumn('name_key', key, (column) => column.notNull())
    .addColumn('audience', 'integer', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('id_key', key, (column) => column.notNull())
    .addColumn('last_modified_by_key', key)
    .addColumn('last_run_at_key', key)
    .addColumn('next_run_at_key', key)
    .addColumn('repeat_interval_key', key)
    .addColumn('description_start', key)
    .addColumn('description_key', key)
    .addColumn('workflow_id_key', key)
    .addColumn('form_id_key', key)
    .addColumn('last_updated_key', key)
    .execute();
  // A document without the field comes first. SQLite sorts so by default, and has no such clause for an index.
  const first = dialect === 'postgres' ? sql` nulls first` : sql``;
  await sql`create index automation_by_name on automation (name_key, name, audience)`.execute(transaction);
  for (const column of sortedBy) {
    const name = sql.ref(`automation_by_${column}`);
    await sql`create index ${name} on automation (${sql.ref(column)}${first}, name_key, name, audience)`.execute(transaction);
  }
  // Nearly always empty: a listing reads it to see that no description was truncated.
  await sql`create index automation_cut on automation (audience) where description_key is not null`.execute(transaction);
}

async function createBlocks(transaction: Transaction<Tables>): Promise<void> {
  await transaction.schema
    .createTable('automation_block')
    .addColumn('audience', 'integer', (column) => column.notNull())
    .addColumn('name_key', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('documents', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('automation_block_pk', ['audience', 'name_key', 'name'])
    .execute();
  const start = new Uint8Array();
  await sql`insert into automation_block (audience, name_key, name, documents) values (-1, ${start}, ${start}, 0)`.execute(
    transaction,
  );
}
