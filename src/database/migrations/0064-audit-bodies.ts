import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** What changes sent, as readers of the audit log may see it. The indexes find the oldest of all, and those of one person. */
export const auditBodies: Migration = {
  number: 64,
  name: 'audit-bodies',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('audit_body')
      .addColumn('chain', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('is_cut', 'integer', (column) => column.notNull())
      .addColumn('body', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('audit_body_pk', ['chain', 'seq'])
      .execute();
    await sql`create index audit_body_of_owner on audit_body (owner, at, chain, seq, size)`.execute(transaction);
    await sql`create index audit_body_by_time on audit_body (at, chain, seq, size)`.execute(transaction);
  },
};
