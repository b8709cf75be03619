import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** The approval that an entry of the audit log is a proof of. A call that needs an approval looks its proofs up. */
export const auditApprovals: Migration = {
  number: 31,
  name: 'audit-approvals',
  part: 'records',
  async up(transaction) {
    await transaction.schema.alterTable('audit_entry').addColumn('approval', 'text').execute();
    await sql`create index audit_entry_of_approval on audit_entry (approval, at) where approval is not null`.execute(transaction);
  },
};
