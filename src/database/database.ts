import { Kysely, sql, type Transaction } from 'kysely';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import { inTime } from '#base/timing/in-time.ts';
import { backUpBeforeMigration } from './backup/before-migration.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations.ts';
import { type Notifications, noNotifications, notifyIn } from './notifications.ts';
import { createSessionDialect } from './session-dialect.ts';
import { takeOverRuns } from './sqlite/former-runs.ts';
import { explainFault } from './start-faults.ts';
import { storeUnavailable } from './store-failure.ts';
import { filesOf } from './store-part.ts';
import { migrateFiles, refuseMissing, refuseOtherTables } from './store-schema.ts';
import { ofGroup, type SessionSource, type StoreFigures, sumOf } from './store-session.ts';
import { postgresNotifications, postgresSessions, postgresSources, type StoreSources, sqliteSources } from './store-sources.ts';
import type { Tables } from './tables/tables.ts';
import { type Availability, logAvailability, watchAvailability } from './watch-availability.ts';
import { type StoreWatcher, watchTime } from './watch-time.ts';

/** Where the gateway keeps its state. `file` is an absolute path; the part `records` is in a file next to it (store-part.ts). */
export type StoreOptions =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: Secret };

/**
 * An open store. Every statement rejects with a `store-unavailable` GatewayError (503) where the store
 * cannot take the statement, and with `StatementRefused` where the store refuses it. Neither error shows a value of the statement.
 */
export interface Database {
  /** Writes the part `main`, also by `query.transaction().execute(work)`. On SQLite a transaction has the one writing connection. */
  readonly query: Kysely<Tables>;
  /** Writes the part `records`, as `query` does. On SQLite it is a file of its own, so that neither waits for the other. */
  readonly records: Kysely<Tables>;
  /** As `records`, for the work of runs. On SQLite it takes turns with other work on that file, so that no action waits for many runs. */
  readonly ofRuns: Kysely<Tables>;
  /**
   * Reads committed rows of both parts, while a writer runs. On SQLite it has connections of its own, which refuse statements that write.
   * A transaction of it sees one moment of the store from its first statement on; on SQLite that holds for each file by itself.
   */
  readonly read: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  readonly notifications: Notifications;
  /** A transaction with no other writer of `table` at the same time, in any gateway. `by` writes the part of the table. */
  exclusively<T>(
    table: keyof Tables,
    work: (transaction: Transaction<Tables>) => Promise<T>,
    by?: 'query' | 'records',
  ): Promise<T>;
  /**
   * Resolves where the store answers within a second; otherwise rejects with `store-unavailable`. On PostgreSQL it also rejects while the server
   * takes no writes. A SQLite file that only takes reads has no other gateway, so its gateway stays in service.
   */
  ping(): Promise<void>;
  /** Its connections now. */
  figures(): StoreFigures;
  /** Waits for running statements; every later statement rejects with `store-unavailable`. */
  close(): Promise<void>;
}

interface OpenOptions {
  readonly store: StoreOptions;
  readonly log: Log;
  readonly watcher?: StoreWatcher | undefined;
  /** Creates and migrates nothing: for commands that only read a store. */
  readonly asItIs?: true;
}

/**
 * Opens the store and brings its schema up to date. Rejects with `store-unavailable` and what to do about the fault.
 */
export async function openDatabase({ store, log, watcher, asItIs }: OpenOptions): Promise<Database> {
  const dialect = store.kind;
  const files = store.kind === 'sqlite' ? filesOf(store.file) : [];
  await (asItIs === true ? refuseMissing(files) : prepare(store, log));
  const sources = store.kind === 'sqlite' ? sqliteSources(filesOf(store.file)) : await postgresSources(store.url);
  const { query, records, ofRuns, read, writing } = queriesOver(sources, { dialect, log, watcher });
  const notifications = await notificationsOf(store, query, log);
  const close = async (): Promise<void> => {
    await using closing = new AsyncDisposableStack();
    closing.defer(() => notifications.close());
    closing.defer(() => sources.writers.close());
    closing.defer(() => sources.recordWriters.close());
    // Closes first: the last connection to a SQLite file checkpoints the write-ahead log, and one that only reads cannot.
    closing.defer(() => sources.readers.close());
  };
  try {
    await (asItIs === true ? refuseOtherTables(read, dialect) : migrateFiles(files, { writing: [query, records], read }));
  } catch (error) {
    await close();
    throw dialect === 'sqlite' ? error : explainFault(error);
  }
  const counted = [...new Set(Object.values<SessionSource>({ ...sources }))].slice(0, dialect === 'postgres' ? 1 : undefined);
  return {
    query,
    records,
    ofRuns,
    read,
    dialect,
    notifications,
    exclusively: (table, work, by = 'query') =>
      (by === 'query' ? query : records).transaction().execute(async (transaction) => {
        // Readers pass (mode `share row exclusive`); on SQLite `begin immediate` has the write lock of the file already.
        if (dialect === 'postgres') await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(transaction);
        return await work(transaction);
      }),
    ping: () => answerInTime(dialect === 'sqlite' ? pingSqlite(read) : pingPostgres(read, writing)),
    figures: () => sumOf(counted),
    close,
  };
}

/** What a migration needs before connections are open. */
async function prepare(store: StoreOptions, log: Log): Promise<void> {
  if (store.kind === 'postgres') return await migratePostgres(store.url);
  await backUpBeforeMigration(store.file, log);
  await takeOverRuns(store.file);
}

async function notificationsOf(store: StoreOptions, query: Kysely<Tables>, log: Log): Promise<Notifications> {
  if (store.kind === 'sqlite') return noNotifications;
  const send = (channel: string, payload: string): Promise<void> => notifyIn(query, channel, [payload]);
  return await postgresNotifications({ url: store.url, send, log });
}

/** Watches each source: a SQLite file that cannot be written can often be read, and one file can fail while the other works. */
function queriesOver(
  { writers, recordWriters, readers }: StoreSources,
  { dialect, log, watcher }: Pick<OpenOptions, 'log' | 'watcher'> & Pick<Database, 'dialect'>,
): Pick<Database, 'query' | 'records' | 'ofRuns' | 'read'> & { readonly writing: Availability } {
  const over = (source: SessionSource, access: 'read' | 'write', availability: Availability): Kysely<Tables> =>
    kyselyOver(dialect, watchAvailability(watcher === undefined ? source : watchTime(source, access, watcher), availability));
  const writing = logAvailability('the store', log);
  const query = over(writers, 'write', writing);
  const ofRecords = logAvailability("the store's audit file", log);
  const recordsOver = (source: SessionSource): Kysely<Tables> =>
    recordWriters === writers ? query : over(source, 'write', ofRecords);
  return {
    writing,
    query,
    records: recordsOver(recordWriters),
    ofRuns: recordsOver(ofGroup(recordWriters, 'runs')),
    read: over(readers, 'read', dialect === 'sqlite' ? ofReaders(logAvailability('the store', log)) : writing),
  };
}

/** For connections that only read: each statement that succeeds shows that reading is possible again. */
function ofReaders(known: Availability): Availability {
  return { ...known, answered: () => known.answered(true) };
}

/** Milliseconds: a readiness probe does not wait in the queue of a store that is stuck. */
const pingLimit = 1_000;

/** A statement on each file of the store. */
function pingSqlite(read: Kysely<Tables>): Promise<unknown> {
  const first = read.selectFrom('schema_migration').select('number').limit(1);
  return first.union(read.selectFrom('audit_key').select('id as number')).execute();
}

/** The audit log writes every few seconds, so the result of the last write is seldom older. */
async function pingPostgres(read: Kysely<Tables>, writing: Availability): Promise<void> {
  const { rows } = await sql<{ readonly setting: string }>`select current_setting('transaction_read_only') as setting
    from schema_migration limit 1`.execute(read);
  if (rows[0]?.setting === 'on') throw storeUnavailable('25006');
  const refusal = writing.refusal();
  if (refusal !== undefined) throw refusal;
}

async function answerInTime(statement: Promise<unknown>): Promise<void> {
  await inTime(statement, pingLimit, () => {
    throw storeUnavailable('slow');
  });
}

/** On a connection of its own: a migration of a large table, or the wait for another gateway's migration, may take minutes. */
async function migratePostgres(url: Secret): Promise<void> {
  const sessions = await postgresSessions({ url, connections: 1, statementLimit: 600_000, idleLimit: 60_000 });
  const query = kyselyOver('postgres', sessions);
  try {
    await migrate({ query, dialect: 'postgres', migrations, part: 'main' });
  } catch (error) {
    throw explainFault(error);
  } finally {
    await sessions.close();
  }
}

function kyselyOver(dialect: 'sqlite' | 'postgres', sessions: SessionSource): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: createSessionDialect(dialect, sessions) });
}
