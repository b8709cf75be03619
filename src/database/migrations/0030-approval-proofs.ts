import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Says of each approval whether the audit log has its proofs. Those of before have none: the gateway ends the open ones when it starts. */
export const approvalProofs: Migration = {
  number: 30,
  name: 'approval-proofs',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .alterTable('approval')
      .addColumn('unrecorded', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await sql`create index approval_unrecorded on approval (id) where unrecorded > 0`.execute(transaction);
  },
};
