import type { Migration } from '../migration.ts';

/** `bytea` holds bytes in either dialect: SQLite keeps a blob as it is in a column of any type. */
const key = 'bytea';

/** The automation catalogue: one row a document, and the groups that may see a document. */
export const automationTables: Migration = {
  number: 2,
  name: 'automations',
  part: 'main',
  async up(transaction) {
    await transaction.schema
      .createTable('automation')
      .addColumn('id', key, (column) => column.primaryKey())
      .addColumn('name', key, (column) => column.notNull())
      .addColumn('restricted', 'integer', (column) => column.notNull())
      .addColumn('document', 'text', (column) => column.notNull())
      .addColumn('id_key', key, (column) => column.notNull())
      .addColumn('name_key', key, (column) => column.notNull())
      .addColumn('last_modified_by_key', key)
      .addColumn('last_run_at_key', key)
      .addColumn('next_run_at_key', key)
      .addColumn('repeat_interval_key', key)
      .addColumn('description_key', key)
      .addColumn('workflow_id_key', key)
      .addColumn('form_id_key', key)
      .addColumn('last_updated_key', key)
      .execute();
    await transaction.schema
      .createTable('automation_group')
      .addColumn('group_name', key, (column) => column.notNull())
      .addColumn('automation_id', key, (column) => column.notNull().references('automation.id').onDelete('cascade'))
      .addPrimaryKeyConstraint('automation_group_pk', ['group_name', 'automation_id'])
      .execute();
    await transaction.schema.createIndex('automation_group_automation').on('automation_group').column('automation_id').execute();
  },
};
