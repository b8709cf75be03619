import type { Migration } from '../migration.ts';

/** Workflow documents: one row for each version, which never changes. */
export const workflowTable: Migration = {
  number: 8,
  name: 'workflows',
  part: 'main',
  async up(transaction) {
    await transaction.schema
      .createTable('workflow')
      .addColumn('id', 'bytea', (column) => column.notNull())
      .addColumn('version', 'bytea', (column) => column.notNull())
      .addColumn('version_key', 'bytea', (column) => column.notNull())
      .addColumn('document', 'bytea', (column) => column.notNull())
      .addColumn('media_type', 'text', (column) => column.notNull())
      .addColumn('definition', 'text', (column) => column.notNull())
      .addColumn('facts', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('created_by', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('workflow_pk', ['id', 'version'])
      .execute();
    await transaction.schema
      .createIndex('workflow_version_key')
      .on('workflow')
      .columns(['id', 'version_key', 'version'])
      .execute();
  },
};
