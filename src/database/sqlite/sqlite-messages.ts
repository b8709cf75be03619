export type SqliteValue = string | number | bigint | null | Uint8Array;

/** The options of a worker. */
export interface SqliteWorkerData {
  readonly file: string;
  readonly readOnly: boolean;
  readonly attached?: AttachedFile | undefined;
  /** KiB of pages of `file` that the connection keeps in memory. SQLite allocates them as they are read or written. */
  readonly cache: number;
}

/** A second file, whose tables a connection sees too, also under a name of its own. */
export interface AttachedFile {
  readonly file: string;
  readonly name: string;
}

/** A request of the main thread to the SQLite worker. The reply has the same `id`. */
export type SqliteRequest =
  | { readonly kind: 'run'; readonly id: number; readonly sql: string; readonly parameters: readonly SqliteValue[] }
  | { readonly kind: 'close' };

/** The first reply of a worker is `opened` or `refused`. */
export type SqliteReply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly resultCode: number }
  | { readonly kind: 'succeeded'; readonly id: number; readonly rows: readonly SqliteRow[]; readonly affected?: number }
  | { readonly kind: 'failed'; readonly id: number; readonly resultCode: number };

export type SqliteRow = Readonly<Record<string, SqliteValue>>;
