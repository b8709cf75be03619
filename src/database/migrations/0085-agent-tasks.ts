import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Calls of agents that wait for people, and go on by themselves. */
export const agentTasks: Migration = {
  number: 85,
  name: 'agent-tasks',
  part: 'records',
  async up(transaction) {
    await transaction.schema
      .createTable('agent_task')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('principal', 'text', (column) => column.notNull())
      .addColumn('token', 'text')
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('arguments', 'text')
      .addColumn('client', 'text', (column) => column.notNull())
      .addColumn('approval', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('result', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addColumn('leased_until', 'bigint', (column) => column.notNull())
      .execute();
    await sql`create index agent_task_working on agent_task (leased_until) where status = 'working'`.execute(transaction);
    await sql`create index agent_task_ended on agent_task (changed_at) where status <> 'working'`.execute(transaction);
  },
};
