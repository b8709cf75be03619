import { CompiledQuery } from 'kysely';

/** Rows of an insert, all of which are kept, or none. */
export class ParameterRows {
  readonly rows: readonly (readonly unknown[])[];

  constructor(rows: readonly (readonly unknown[])[]) {
    this.rows = rows;
  }
}

/**
 * For SQLite alone. `into` is a table with its columns, such as `revoked_token (jti, expires_at)`. All rows go to the worker thread in one
 * message; the thread inserts many rows with each statement.
 */
export function insertRows(into: string, rows: readonly (readonly unknown[])[]): CompiledQuery {
  // `or fail`: a failed statement is undone with its transaction, so that SQLite keeps no journal to undo the statement alone.
  return CompiledQuery.raw(`insert or fail into ${into}`, [new ParameterRows(rows)]);
}
