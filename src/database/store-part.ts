import { format, parse } from 'node:path';

/**
 * What has a schema of its own. On SQLite each is a file, with a write lock of its own; on PostgreSQL both are in one database. `main` has
 * the catalogue, people and sessions; `records` has what happens: the audit log, idempotency keys, approvals, runs, events, schedules.
 */
export type StorePart = 'main' | 'records';

/** One SQLite file of the store. */
export interface StoreFile {
  readonly part: StorePart;
  readonly file: string;
}

/** The SQLite files of a store: for `gateway.db` they are `gateway.db` and `gateway.audit.db`. */
export function filesOf(configured: string): readonly [StoreFile, StoreFile] {
  return [
    { part: 'main', file: configured },
    { part: 'records', file: besides(configured, 'audit') },
  ];
}

/** The third file of earlier stores: the runs, which `records` has now (former-runs.ts). */
export function formerRunsFile(configured: string): string {
  return besides(configured, 'runs');
}

/** The key of approvals, where no other one is configured. */
export function keyFileOf(configured: string): string {
  return `${configured}.key`;
}

function besides(configured: string, word: string): string {
  const { dir, name, ext } = parse(configured);
  return format({ dir, name: `${name}.${word}`, ext });
}
