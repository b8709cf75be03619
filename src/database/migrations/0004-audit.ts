import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * The audit log: entries in one chain a gateway process, the chains themselves, and the keys of their MACs and signatures. One partial
 * index is for reading by time, the other leads from a call to its outcome. An entry is in one of them, so that a write stays cheap.
 */
export const auditTables: Migration = {
  number: 4,
  name: 'audit',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('audit_key')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('mac_key', 'text', (column) => column.notNull())
      .addColumn('private_key', 'text', (column) => column.notNull())
      .addColumn('public_key', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await transaction.schema
      .createTable('audit_chain')
      .addColumn('chain', 'text', (column) => column.primaryKey())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('alive_until', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .addColumn('linked_seq', 'bigint', (column) => column.notNull())
      .addColumn('pruned_seq', 'bigint', (column) => column.notNull())
      .addColumn('pruned_total', 'bigint', (column) => column.notNull())
      .addColumn('pruned_mac', 'text', (column) => column.notNull())
      .addColumn('pruned_before', 'bigint', (column) => column.notNull())
      .addColumn('anchor', 'text', (column) => column.notNull())
      .execute();
    await transaction.schema
      .createTable('audit_entry')
      .addColumn('chain', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('call', 'bigint', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('total', 'bigint', (column) => column.notNull())
      .addColumn('principal', 'text')
      .addColumn('adapter', 'text')
      .addColumn('facts', 'text', (column) => column.notNull())
      .addColumn('mac', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('audit_entry_pk', ['chain', 'seq'])
      .execute();
    await sql`create index audit_entry_by_time on audit_entry (at, chain, seq) where kind not in ('step', 'outcome')`.execute(
      transaction,
    );
    await sql`create index audit_entry_by_call on audit_entry (chain, call, seq) where kind in ('step', 'outcome')`.execute(
      transaction,
    );
  },
};
