import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/**
 * Of a run that is old the store keeps the row alone (`is_stripped`), while the audit log has changes of it. The term `c:RUN` finds those;
 * earlier changes get theirs here.
 */
export const keptRuns: Migration = {
  number: 65,
  name: 'kept-runs',
  part: 'records',
  async up(transaction, dialect) {
    await sql`alter table run add column is_stripped integer not null default 0`.execute(transaction);
    await sql`drop index run_ended`.execute(transaction);
    await sql`create index run_ended on run (ended_at) where ended_at is not null and is_stripped = 0`.execute(transaction);
    await sql`create index run_stripped on run (ended_at) where is_stripped = 1`.execute(transaction);
    const member = (path: string) =>
      dialect === 'sqlite'
        ? sql`json_extract(facts, ${sql.lit(`$.${path}`)})`
        : sql`(facts::json #>> ${sql.lit(`{${path.replace('.', ',')}}`)})`;
    await sql`insert into audit_term (term, at, chain, seq) select 'c:' || ${member('via.run')}, at, chain, seq from audit_entry
      where kind = 'intent' and ${member('via.run')} is not null and ${member('preview')} is null
      on conflict do nothing`.execute(transaction);
  },
};
