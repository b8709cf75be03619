import { CompiledQuery } from 'kysely';

/** Rows of parameters of one statement that is run for each of them, all or none. */
export class ParameterRows {
  readonly rows: readonly (readonly unknown[])[];

  constructor(rows: readonly (readonly unknown[])[]) {
    this.rows = rows;
  }
}

/**
 * For SQLite alone: the statement goes to its thread with all rows in one message, and is prepared once. It takes half the time of taking
 * the rows out of one JSON text, and a tenth of the messages of statements with as many rows as SQLite has parameters for.
 */
export function forEachRow(sql: string, rows: readonly (readonly unknown[])[]): CompiledQuery {
  return CompiledQuery.raw(sql, [new ParameterRows(rows)]);
}
