import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** Persons take turns with their runs. A run counts what its timeline leaves out, and a person what the store holds of all its runs. */
export const runLimits: Migration = {
  number: 46,
  name: 'run-limits',
  part: 'records',
  async up(transaction) {
    await sql`alter table run add column not_stored text`.execute(transaction);
    await sql`alter table run add column bytes bigint not null default 0`.execute(transaction);
    await sql`update run set bytes = octet_length(facts)
      + coalesce((select octet_length(input) + coalesce(octet_length(output), 0) from run_text where run_text.run = run.id), 0)
      + coalesce((select sum(octet_length(facts)) from run_task where run_task.run = run.id), 0)
      + coalesce((select sum(octet_length(event)) from event_log where event_log.run = run.id), 0)`.execute(transaction);
    await sql`alter table run_claim add column person text not null default ''`.execute(transaction);
    await sql`update run_claim set person = (select principal_digest from run where run.id = run_claim.run)`.execute(transaction);
    await sql`create index run_claim_by_person on run_claim (person, due_at) where due_at is not null`.execute(transaction);
    await sql`create index run_by_principal on run (principal_digest)`.execute(transaction);
    await sql`alter table event_log add column sender_digest text`.execute(transaction);
    await sql`create index event_log_by_sender on event_log (sender_digest) where sender_digest is not null`.execute(transaction);
    await sql`create index approval_by_caller on approval (caller_digest)`.execute(transaction);
  },
};
