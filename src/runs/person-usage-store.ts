import { sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { digestOf } from './run-row.ts';

/** Bytes that the store holds of a person's principals: runs with their states and events, events that they sent, and approvals. */
export async function usageOf({ read }: Pick<Database, 'read'>, principals: readonly string[]): Promise<number> {
  const digests = sql`(${sql.join(principals.map(digestOf))})`;
  const own = sql`run.principal_digest in ${digests}`;
  const parts = [
    sql`select sum(bytes) from run where ${own}`,
    sql`select sum(octet_length(state)) from run_state join run on run.id = run_state.run where ${own}`,
    sql`select sum(octet_length(value)) from run_value join run on run.id = run_value.run where ${own}`,
    sql`select sum(octet_length(event)) from event_log where sender_digest in ${digests}`,
    sql`select sum(octet_length(facts) + coalesce(octet_length(body), 0) + coalesce(octet_length(preview), 0))
      from approval where caller_digest in ${digests}`,
  ];
  const sum = sql.join(
    parts.map((part) => sql`coalesce((${part}), 0)`),
    sql` + `,
  );
  const { rows } = await sql<{ readonly bytes: number }>`select cast(${sum} as bigint) as bytes`.execute(read);
  return rows[0]?.bytes ?? 0;
}
