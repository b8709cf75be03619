import { CompiledQuery } from 'kysely';

/** Rows of an insert, all of which are kept, or none. */
export class ParameterRows {
  readonly rows: readonly (readonly unknown[])[];

  constructor(rows: readonly (readonly unknown[])[]) {
    this.rows = rows;
  }
}

/**
 * For SQLite alone, `into` a table with its columns, such as `revoked_token (jti, expires_at)`: all rows go to its thread in one message,
 * which makes statements of many rows of them.
 */
export function insertRows(into: string, rows: readonly (readonly unknown[])[]): CompiledQuery {
  // `or fail`: what a statement did before it failed is undone with its transaction. SQLite then keeps nothing to undo it alone.
  return CompiledQuery.raw(`insert or fail into ${into}`, [new ParameterRows(rows)]);
}
