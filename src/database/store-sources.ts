import type { Secret } from '#base/secret.ts';
import type { Notifications } from './notifications.ts';
import type { PostgresNotificationsOptions } from './postgres/postgres-notifications.ts';
import type { PostgresSessions, PostgresSessionsOptions } from './postgres/postgres-sessions.ts';
import { SqliteSessions } from './sqlite/sqlite-sessions.ts';
import type { filesOf } from './store-part.ts';
import type { SessionSource } from './store-session.ts';

/** Where the connections of a store come from. On PostgreSQL all of them are one pool. */
export interface StoreSources {
  readonly writers: SessionSource;
  /** Of the part `records`. */
  readonly recordWriters: SessionSource;
  /** They see both parts. */
  readonly readers: SessionSource;
}

/**
 * KiB of pages that a connection of SQLite keeps in memory; SQLite's default is 2 MiB. An import into a large catalogue writes all over its
 * indexes, so their upper levels are to stay. Records are added at the end of their tables, and are seldom read again: a larger cache
 * would only fill with them.
 */
const cacheOf = { main: 65_536, records: 8_192, reader: 32_768 } as const;

/** How readers call the schema of the part `records`, where a table of its name is in both files. */
export const recordsSchema = 'records';

export function sqliteSources([main, records]: ReturnType<typeof filesOf>): StoreSources {
  const attached = { file: records.file, name: recordsSchema };
  return {
    writers: new SqliteSessions({ file: main.file, kind: 'write', cache: cacheOf.main }),
    recordWriters: new SqliteSessions({ file: records.file, kind: 'write', cache: cacheOf.records }),
    readers: new SqliteSessions({ file: main.file, kind: 'read', cache: cacheOf.reader, attached }),
  };
}

/**
 * One pool for all: only the way a transaction begins differs. A gateway that stops within a transaction has its locks no longer than its
 * leases.
 */
export async function postgresSources(url: Secret): Promise<StoreSources> {
  const sessions = await postgresSessions({ url, connections: 10, statementLimit: 10_000, idleLimit: 5_000 });
  const readers = { ...sessions, begin: sessions.beginReading };
  return { writers: sessions, recordWriters: sessions, readers };
}

/** Loads the driver, which a gateway on SQLite does not need. */
export async function postgresSessions(options: PostgresSessionsOptions): Promise<PostgresSessions> {
  const { createPostgresSessions } = await import('./postgres/postgres-sessions.ts');
  return createPostgresSessions(options);
}

export async function postgresNotifications(options: PostgresNotificationsOptions): Promise<Notifications> {
  const { PostgresNotifications } = await import('./postgres/postgres-notifications.ts');
  return new PostgresNotifications(options);
}
