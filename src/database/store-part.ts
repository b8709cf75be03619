import { format, parse } from 'node:path';

/** A part of the store that is opened by itself. */
export type StorePart = 'main' | 'audit';

/**
 * What has a schema of its own. On SQLite each is a file, with a write lock of its own; on PostgreSQL all are in one database. `runs` has
 * the run facts: it is opened with `main`, whose reading connections see both.
 */
export type SchemaPart = StorePart | 'runs';

/** The SQLite file of a part, next to the configured file: for `gateway.db` they are `gateway.runs.db` and `gateway.audit.db`. */
export function fileOf(part: SchemaPart, file: string): string {
  if (part === 'main') return file;
  const { dir, name, ext } = parse(file);
  return format({ dir, name: `${name}.${part}`, ext });
}
