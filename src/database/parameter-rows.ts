import { CompiledQuery } from 'kysely';

/** Rows of parameters of one statement that is run for each of them, all or none. */
export class ParameterRows {
  readonly rows: readonly (readonly unknown[])[];

  constructor(rows: readonly (readonly unknown[])[]) {
    this.rows = rows;
  }
}

/** For SQLite alone: the statement goes to its thread in one message with all rows, which takes half the time of one JSON text to be taken apart. */
export function forEachRow(sql: string, rows: readonly (readonly unknown[])[]): CompiledQuery {
  return CompiledQuery.raw(sql, [new ParameterRows(rows)]);
}
