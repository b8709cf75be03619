import type { Secret } from '#base/secret.ts';
import type { Notifications } from './notifications.ts';
import type { PostgresSessionsOptions } from './postgres-sessions.ts';
import { SqliteSessions } from './sqlite-sessions.ts';
import type { StoreFile } from './store-schema.ts';
import type { SessionSource } from './store-session.ts';

/** Where the connections of a part come from. On PostgreSQL all of them are one pool. */
export interface StoreSources {
  readonly writers: SessionSource;
  /** Of the tables of the part `runs`; of another part than `main` the same as `writers`. */
  readonly runWriters: SessionSource;
  readonly readers: SessionSource;
}

/**
 * KiB of pages that a connection of SQLite keeps in memory; SQLite's default is 2 MiB. An import into a large catalogue writes all over its
 * indexes, so their upper levels are to stay. Runs and audit entries are added at the end of their tables, and are seldom read again: a
 * larger cache would only fill with them.
 */
const cacheOf = { catalogue: 65_536, added: 8_192, reader: 32_768 } as const;

/** `files` as `filesOf` answers them. */
export function sqliteSources([own, runs]: readonly StoreFile[]): StoreSources {
  if (own === undefined) throw new Error('A part of a SQLite store has a file.');
  const writerOf = ({ part, file }: StoreFile): SqliteSessions =>
    new SqliteSessions({ file, kind: 'write', cache: part === 'main' ? cacheOf.catalogue : cacheOf.added });
  const writers = writerOf(own);
  return {
    writers,
    runWriters: runs === undefined ? writers : writerOf(runs),
    readers: new SqliteSessions({ file: own.file, kind: 'read', cache: cacheOf.reader, ...(runs && { attached: runs.file }) }),
  };
}

/**
 * One pool for all: only the way a transaction begins differs. A gateway that stops within a transaction has its locks no longer than its
 * leases.
 */
export async function postgresSources(url: Secret): Promise<StoreSources> {
  const sessions = await postgresSessions({ url, connections: 10, statementLimit: 10_000, idleLimit: 5_000 });
  const readers = { ...sessions, begin: 'begin isolation level repeatable read read only' };
  return { writers: sessions, runWriters: sessions, readers };
}

/** Loads the driver, which a gateway on SQLite does not need. */
export async function postgresSessions(options: PostgresSessionsOptions): Promise<SessionSource> {
  const { createPostgresSessions } = await import('./postgres-sessions.ts');
  return createPostgresSessions(options);
}

export async function postgresNotifications(url: Secret): Promise<Notifications> {
  const { PostgresNotifications } = await import('./postgres-notifications.ts');
  return new PostgresNotifications(url);
}
