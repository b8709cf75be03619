import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** What the tasks of runs get and give, and what people decided about them. */
export const taskData: Migration = {
  number: 72,
  name: 'task-data',
  part: 'records',
  async up(transaction) {
    for (const column of ['decisions', 'input', 'arguments', 'output'])
      await sql`alter table run_task add column ${sql.ref(column)} text`.execute(transaction);
    await sql`alter table run add column data_bytes bigint not null default 0`.execute(transaction);
  },
};
