import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { digestOf } from '../journal/run-row.ts';

/**
 * Bytes that the store holds of a person's principals. These are runs with states and events, sent events, approvals, waiting calls of
 * agents, and documents of the catalogue. The history of automations has their documents of now as well.
 */
export async function usageOf(
  { read, dialect }: Pick<Database, 'dialect' | 'read'>,
  principals: readonly string[],
): Promise<number> {
  const digests = sql`(${sql.join(principals.map(digestOf))})`;
  const own = sql`run.principal_digest in ${digests}`;
  const names = (column: string): RawBuilder<SqlBool> =>
    sql<SqlBool>`(${sql.join(
      principals.map((id) => namesPerson(dialect, column, id)),
      sql` or `,
    )})`;
  const parts = [
    sql`select sum(bytes) from run where ${own}`,
    sql`select sum(octet_length(state)) from run_state join run on run.id = run_state.run where ${own}`,
    sql`select sum(octet_length(value)) from run_value join run on run.id = run_value.run where ${own}`,
    sql`select sum(octet_length(event)) from event_log where sender_digest in ${digests}`,
    sql`select sum(octet_length(facts) + coalesce(octet_length(body), 0) + coalesce(octet_length(preview), 0))
      from approval where caller_digest in ${digests}`,
    sql`select sum(coalesce(octet_length(arguments), 0) + coalesce(octet_length(result), 0))
      from agent_task where ${names('agent_task.principal')}`,
    sql`select sum(bytes) from automation_history where principal_digest in ${digests}`,
    sql`select sum(octet_length(document) + octet_length(definition)) from workflow where ${names('storers')}`,
    sql`select sum(octet_length(document)) from form where ${names('facts')}`,
  ];
  const sum = sql.join(
    parts.map((part) => sql`coalesce((${part}), 0)`),
    sql` + `,
  );
  const { rows } = await sql<{ readonly bytes: number }>`select cast(${sum} as bigint) as bytes`.execute(read);
  return rows[0]?.bytes ?? 0;
}

/** The JSON text of the column has the id of the principal. A quote within another text of it is escaped. */
function namesPerson(dialect: Database['dialect'], column: string, id: string): RawBuilder<SqlBool> {
  const member = JSON.stringify({ id }).slice(1, -1);
  return dialect === 'postgres'
    ? sql<SqlBool>`position(${member} in ${sql.ref(column)}) > 0`
    : sql<SqlBool>`instr(${sql.ref(column)}, ${member}) > 0`;
}
