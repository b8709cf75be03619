import { Kysely, sql, type Transaction } from 'kysely';
import { inTime } from '#base/in-time.ts';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations.ts';
import { type Notifications, noNotifications } from './notifications.ts';
import { createSessionDialect } from './session-dialect.ts';
import { explained } from './start-faults.ts';
import { storeUnavailable } from './store-failure.ts';
import type { StorePart } from './store-part.ts';
import { filesOf, migrateFiles, refuseMissing, refuseOtherTables } from './store-schema.ts';
import { type SessionSource, type StoreFigures, sumOf } from './store-session.ts';
import { postgresNotifications, postgresSessions, postgresSources, type StoreSources, sqliteSources } from './store-sources.ts';
import type { Tables } from './tables.ts';
import { type Availability, logAvailability, watchAvailability } from './watch-availability.ts';
import { type StoreWatcher, watchTime } from './watch-time.ts';

/** Where the gateway keeps its state. `file` is an absolute path; the other parts are in files next to it (store-part.ts). */
export type StoreOptions =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: Secret };

/**
 * An open store, or on SQLite one part of it. Every statement rejects with a `store-unavailable` GatewayError (503) where the store
 * cannot take the statement, and with `StatementRefused` where the store refuses it. Neither error shows a value of the statement.
 */
export interface Database {
  /** Also `query.transaction().execute(work)`. On SQLite a transaction holds the one writing connection, so keep it short. */
  readonly query: Kysely<Tables>;
  /**
   * Writes the tables of the part `runs`. On SQLite this is a file with a write lock of its own, so that a transaction of `query` does
   * not hold up these writes. Only for the part `main`; of another part it is `query`.
   */
  readonly runs: Kysely<Tables>;
  /**
   * Reads committed rows, while a writer runs. On SQLite it has connections of its own, which refuse statements that write. A
   * transaction of it sees one moment of the store from its first statement on; on SQLite that holds for each file by itself.
   */
  readonly read: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  readonly notifications: Notifications;
  /** A transaction with no other writer of `table` at the same time, in any gateway. */
  exclusively<T>(table: keyof Tables, work: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
  /** Resolves where the store answers within a second; otherwise rejects with `store-unavailable`. */
  ping(): Promise<void>;
  /** Its connections now. */
  figures(): StoreFigures;
  /** Waits for running statements; every later statement rejects with `store-unavailable`. */
  close(): Promise<void>;
}

interface OpenOptions {
  /** As configured, for every part. */
  readonly store: StoreOptions;
  readonly part: StorePart;
  readonly log: Log;
  readonly watcher?: StoreWatcher | undefined;
  /** Creates and migrates nothing: for commands that only read a store. */
  readonly asItIs?: true;
}

/**
 * Opens a part of the store and brings its schema up to date; on PostgreSQL that is the whole store. Rejects with `store-unavailable`
 * and what to do about the fault.
 */
export async function openDatabase({ store, part, log, watcher, asItIs }: OpenOptions): Promise<Database> {
  const dialect = store.kind;
  const files = store.kind === 'sqlite' ? filesOf(part, store.file) : [];
  if (asItIs === true) await refuseMissing(files);
  else if (store.kind === 'postgres') await migratePostgres(store.url);
  const sources = store.kind === 'sqlite' ? sqliteSources(files) : await postgresSources(store.url);
  const { query, runs, read } = queriesOver(sources, { dialect, part, log, watcher });
  const notifications = await notificationsOf(store);
  const close = async (): Promise<void> => {
    await using closing = new AsyncDisposableStack();
    closing.defer(() => notifications.close());
    closing.defer(() => sources.writers.close());
    closing.defer(() => sources.runWriters.close());
    // Closes first: the last connection to a SQLite file checkpoints the write-ahead log, and one that only reads cannot.
    closing.defer(() => sources.readers.close());
  };
  try {
    if (asItIs === true)
      await refuseOtherTables(read, { dialect, parts: dialect === 'sqlite' ? files.map((file) => file.part) : [part] });
    else await migrateFiles(files, { writing: [query, runs], read });
  } catch (error) {
    await close();
    throw dialect === 'sqlite' ? error : explained(error);
  }
  const counted = dialect === 'postgres' ? [sources.writers] : [...new Set(Object.values<SessionSource>({ ...sources }))];
  return {
    query,
    runs,
    read,
    dialect,
    notifications,
    exclusively: (table, work) =>
      query.transaction().execute(async (transaction) => {
        // Readers pass (mode `share row exclusive`); on SQLite `begin immediate` has the write lock of the file already.
        if (dialect === 'postgres') await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(transaction);
        return await work(transaction);
      }),
    ping: () => answered(read.selectFrom('schema_migration').select('number').limit(1).execute()),
    figures: () => sumOf(counted),
    close,
  };
}

async function notificationsOf(store: StoreOptions): Promise<Notifications> {
  return store.kind === 'sqlite' ? noNotifications : await postgresNotifications(store.url);
}

/** Watches each source: a SQLite file that cannot be written can often be read, and one file can fail while the others work. */
function queriesOver(
  { writers, runWriters, readers }: StoreSources,
  { dialect, part, log, watcher }: Pick<OpenOptions, 'part' | 'log' | 'watcher'> & Pick<Database, 'dialect'>,
): Pick<Database, 'query' | 'runs' | 'read'> {
  const over = (source: SessionSource, access: 'read' | 'write', availability: Availability): Kysely<Tables> =>
    kyselyOver(dialect, watchAvailability(watcher === undefined ? source : watchTime(source, access, watcher), availability));
  const name = part === 'main' || dialect === 'postgres' ? 'the store' : "the store's audit file";
  const writing = logAvailability(name, log);
  const query = over(writers, 'write', writing);
  return {
    query,
    runs: runWriters === writers ? query : over(runWriters, 'write', logAvailability("the store's runs file", log)),
    read: over(readers, 'read', dialect === 'sqlite' ? ofReaders(logAvailability(name, log)) : writing),
  };
}

/** For connections that only read: each statement that succeeds shows that reading is possible again. */
function ofReaders(known: Availability): Availability {
  return { failed: (error) => known.failed(error), answered: () => known.answered(true) };
}

/** Milliseconds: a readiness probe does not wait in the queue of a store that is stuck. */
const pingLimit = 1_000;

async function answered(statement: Promise<unknown>): Promise<void> {
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
    throw explained(error);
  } finally {
    await sessions.close();
  }
}

function kyselyOver(dialect: 'sqlite' | 'postgres', sessions: SessionSource): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: createSessionDialect(dialect, sessions) });
}
