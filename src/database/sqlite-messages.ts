import type { PackedRows, PackedValues, SqliteValue } from './packed-values.ts';

/** What a worker is started with. */
export interface SqliteWorkerData {
  readonly file: string;
  readonly readOnly: boolean;
  /** A second file, whose tables the connection sees too. */
  readonly attached?: string | undefined;
}

/** What the main thread asks of the SQLite worker. `id` comes back in the reply. */
export type SqliteRequest =
  | { readonly kind: 'run'; readonly id: number; readonly sql: string; readonly parameters: PackedValues }
  /** All rows or none; `into` is the statement up to its VALUES. */
  | { readonly kind: 'insert'; readonly id: number; readonly into: string; readonly rows: PackedRows }
  | { readonly kind: 'close' };

/** `opened` or `refused` is the first thing a worker says. */
export type SqliteReply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly resultCode: number }
  | { readonly kind: 'done'; readonly id: number; readonly rows: readonly SqliteRow[]; readonly affected?: number }
  | { readonly kind: 'failed'; readonly id: number; readonly resultCode: number };

export type SqliteRow = Readonly<Record<string, SqliteValue>>;
