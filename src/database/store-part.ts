import { format, parse } from 'node:path';

/**
 * What of the store is opened. On SQLite each part is a file of its own and so has a writer of its own; on PostgreSQL both are in one
 * database.
 */
export type StorePart = 'main' | 'audit';

/** The SQLite file of a part of the store that is configured as `file`: the audit log of `gateway.db` is in `gateway.audit.db` beside it. */
export function fileOf(part: StorePart, file: string): string {
  if (part === 'main') return file;
  const { dir, name, ext } = parse(file);
  return format({ dir, name: `${name}.audit`, ext });
}
