import { createHash } from 'node:crypto';
import type { Migration } from '../migration.ts';

/** Documents whose digests are computed at once. */
const documentsAtOnce = 50;

/**
 * Versions of workflows with the digest of their bytes and who stored them, and what is left of deleted ones. `storers` of a row that exists
 * already is null: the gateway looks for them in its audit log when it starts.
 */
export const workflowDigests: Migration = {
  number: 35,
  name: 'workflow digests',
  part: 'main',
  async up(transaction) {
    await transaction.schema
      .alterTable('workflow')
      .addColumn('digest', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await transaction.schema.alterTable('workflow').addColumn('storers', 'text').execute();
    await transaction.schema
      .createTable('workflow_tombstone')
      .addColumn('id', 'bytea', (column) => column.notNull())
      .addColumn('version', 'bytea', (column) => column.notNull())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('storers', 'text')
      .addPrimaryKeyConstraint('workflow_tombstone_pk', ['id', 'version'])
      .execute();
    for (;;) {
      const rows = await transaction
        .selectFrom('workflow')
        .select(['id', 'version', 'document'])
        .where('digest', '=', '')
        .limit(documentsAtOnce)
        .execute();
      if (rows.length === 0) break;
      for (const { id, version, document } of rows) {
        const digest = createHash('sha256').update(document).digest('hex');
        await transaction.updateTable('workflow').set({ digest }).where('id', '=', id).where('version', '=', version).execute();
      }
    }
    await transaction.schema.createIndex('workflow_digest').on('workflow').column('digest').execute();
  },
};
