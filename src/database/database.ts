import { access } from 'node:fs/promises';
import { Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { inTime } from '#base/in-time.ts';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import { migrate, migrationsOf } from './migrate.ts';
import { migrations } from './migrations.ts';
import type { PostgresSessionsOptions } from './postgres-sessions.ts';
import { createSessionDialect } from './session-dialect.ts';
import { cannotOpen } from './sqlite-connection.ts';
import { SqliteSessions } from './sqlite-sessions.ts';
import { isWriteRefusal, StatementRefused, storeUnavailable } from './store-failure.ts';
import { fileOf, type StorePart } from './store-part.ts';
import { type SessionSource, type StoreFigures, sumOf } from './store-session.ts';
import type { Tables } from './tables.ts';
import { type Availability, logAvailability, watchAvailability } from './watch-availability.ts';
import { type StoreWatcher, watchTime } from './watch-time.ts';

/** Where the gateway keeps what must outlive it. `file` is an absolute path; the audit log is in a file beside it (store-part.ts). */
export type StoreOptions =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: Secret };

/**
 * An open store, or on SQLite one part of it. Every statement rejects with a `store-unavailable` GatewayError (503) where the store cannot take it, and with
 * `StatementRefused` where the store said no; neither shows a value of the statement.
 */
export interface Database {
  /** Also `query.transaction().execute(work)`; on SQLite a transaction holds the one connection, so keep it short. */
  readonly query: Kysely<Tables>;
  /**
   * Reads what is committed, beside any writer: on SQLite connections of their own, which refuse statements that write. A
   * transaction of it sees one moment of the store from its first statement on.
   */
  readonly read: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  /** A transaction that no other writer of `table` runs beside, in whichever gateway. */
  exclusively<T>(table: keyof Tables, work: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
  /** Resolves where the store answers within a second; `store-unavailable` where not. */
  ping(): Promise<void>;
  /** Its connections now. */
  figures(): StoreFigures;
  /** Waits for statements that are running; every later one is `store-unavailable`. */
  close(): Promise<void>;
}

interface OpenOptions {
  /** As configured, whichever part is meant. */
  readonly store: StoreOptions;
  readonly part: StorePart;
  readonly log: Log;
  readonly watcher?: StoreWatcher;
  /** Nothing is created and nothing brought up to date: for whoever only looks into a store. */
  readonly asItIs?: true;
}

/**
 * Opens a part of the store and brings its schema up to date; on PostgreSQL that is the whole of it. Rejects with `store-unavailable`
 * and what to do about it.
 */
export async function openDatabase({ store: configured, part, log, watcher, asItIs }: OpenOptions): Promise<Database> {
  const { store, name } = placeOf(part, configured);
  const dialect = store.kind;
  if (asItIs === true) await refuseMissing(store);
  else if (store.kind === 'postgres') await migratePostgres(store.url);
  const [writers, readers] = store.kind === 'sqlite' ? sqliteSources(store.file) : await postgresSources(store.url);
  const close = async (): Promise<void> => {
    // The last connection to a SQLite file folds the write-ahead log in, and one that only reads cannot.
    try {
      await readers.close();
    } finally {
      await writers.close();
    }
  };
  // A SQLite file that cannot be written can often be read; PostgreSQL is there or not.
  const writing = logAvailability(name, log);
  const reading = dialect === 'sqlite' ? ofReaders(logAvailability(name, log)) : writing;
  const watched = (source: SessionSource, access: 'read' | 'write'): SessionSource =>
    watchAvailability(watcher === undefined ? source : watchTime(source, access, watcher), access === 'read' ? reading : writing);
  const query = kyselyOver(dialect, watched(writers, 'write'));
  const read = kyselyOver(dialect, watched(readers, 'read'));
  try {
    if (asItIs === true) await refuseOtherTables(read, { dialect, part });
    else if (dialect === 'sqlite') await migrateSqlite(query, read, part);
  } catch (error) {
    await close();
    throw store.kind === 'sqlite' ? namingFile(error, store.file) : explained(error);
  }
  return {
    query,
    read,
    dialect,
    exclusively: (table, work) =>
      query.transaction().execute(async (transaction) => {
        // Readers pass (mode `share row exclusive`); on SQLite every transaction is alone already.
        if (dialect === 'postgres') await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(transaction);
        return await work(transaction);
      }),
    ping: () => answered(read.selectFrom('schema_migration').select('number').limit(1).execute()),
    figures: () => sumOf(dialect === 'postgres' ? [writers] : [writers, readers]),
    close,
  };
}

/** Nothing is written there: that it can be read is the news. */
function ofReaders(known: Availability): Availability {
  return { failed: (error) => known.failed(error), answered: () => known.answered(true) };
}

/** Where a part is, and what it is called in the log. */
function placeOf(part: StorePart, store: StoreOptions): { readonly store: StoreOptions; readonly name: string } {
  if (store.kind === 'postgres' || part === 'main') return { store, name: 'the store' };
  return { store: { kind: 'sqlite', file: fileOf(part, store.file) }, name: "the store's audit file" };
}

function sqliteSources(file: string): readonly [SessionSource, SessionSource] {
  return [new SqliteSessions({ file, kind: 'write' }), new SqliteSessions({ file, kind: 'read' })];
}

/** The driver is loaded where there is a PostgreSQL. */
async function postgresSessions(options: PostgresSessionsOptions): Promise<SessionSource> {
  const { createPostgresSessions } = await import('./postgres-sessions.ts');
  return createPostgresSessions(options);
}

/** One pool for both: only the way a transaction begins differs. */
async function postgresSources(url: Secret): Promise<readonly [SessionSource, SessionSource]> {
  const sessions = await postgresSessions({ url, connections: 10, statementLimit: 10_000 });
  return [sessions, { ...sessions, begin: 'begin isolation level repeatable read read only' }];
}

/** What to say at the start, to the operator: which file, and why. One that opens may still turn out to be damaged once its schema is read. */
function namingFile(error: unknown, file: string): unknown {
  const cause = error instanceof GatewayError && error.cause instanceof Error ? error.cause.message : '';
  const resultCode = /SQLite (\d+)$/u.exec(cause)?.[1];
  if (resultCode !== undefined) return cannotOpen(file, Number(resultCode));
  const code = /^store: (E[A-Z]+)$/u.exec(cause)?.[1];
  if (code === undefined) return error;
  return storeUnavailable(
    code,
    `The SQLite file ${file} cannot be made or written (${code}): check the path, the rights and the room on the disk.`,
  );
}

interface Schema {
  readonly dialect: 'sqlite' | 'postgres';
  readonly part: StorePart;
}

/** True where the schema is there and the one of this version. Rejects where the store does not answer. */
async function isUpToDate(read: Kysely<Tables>, { dialect, part }: Schema): Promise<boolean> {
  try {
    const rows = await read.selectFrom('schema_migration').select('number').execute();
    const applied = new Set(rows.map(({ number }) => number));
    const last = migrations.at(-1)?.number ?? 0;
    const wanted = migrationsOf({ dialect, migrations, part });
    return wanted.every(({ number }) => applied.has(number)) && rows.every(({ number }) => number <= last);
  } catch (error) {
    if (error instanceof StatementRefused) return false;
    throw error;
  }
}

async function migrateSqlite(query: Kysely<Tables>, read: Kysely<Tables>, part: StorePart): Promise<void> {
  const schema = { dialect: 'sqlite', part } as const;
  try {
    await migrate({ query, ...schema, migrations });
  } catch (error) {
    // A full disk or a read-only file: what is there can be served nevertheless, and writing begins once it is possible.
    if (!isWriteRefusal(error) || !(await isUpToDate(read, schema).catch(() => false))) throw error;
  }
}

async function refuseMissing(store: StoreOptions): Promise<void> {
  if (store.kind !== 'sqlite') return;
  try {
    await access(store.file);
  } catch (error) {
    const code = systemCode(error) ?? 'unknown';
    throw storeUnavailable(
      code,
      `There is no store at ${store.file} (${code}): check store.url. The gateway makes it when it starts.`,
    );
  }
}

async function refuseOtherTables(read: Kysely<Tables>, schema: Schema): Promise<void> {
  if (await isUpToDate(read, schema)) return;
  throw storeUnavailable(
    'schema',
    'The store has not the tables of this version: check store.url, and that this version of the gateway was started on it.',
  );
}

/** Milliseconds. A readiness probe is not to wait in the queue of a store that is stuck. */
const pingLimit = 1_000;

async function answered(statement: Promise<unknown>): Promise<void> {
  await inTime(statement, pingLimit, () => {
    throw storeUnavailable('slow');
  });
}

/** What PostgreSQL says to a start that cannot go well (SQLSTATE, appendix A of its documentation), and the system of its address. */
const startFaults = [
  { reason: '3D000', advice: 'the database that store.url names does not exist; create it, or correct store.url' },
  { reason: '28000', advice: 'the server does not let the user of store.url in; create the role, or allow it in pg_hba.conf' },
  { reason: '28P01', advice: 'the password of store.url is wrong' },
  {
    reason: '42501',
    advice:
      'its user has no right to create or use the tables; make it the owner of the database (alter database … owner to …), or grant it create and usage on the schema',
  },
  {
    reason: '3F000',
    advice:
      'no schema of the search_path is there for its user; create one, grant usage and create on it, or correct search_path',
  },
  { reason: '25006', advice: 'it can only be read (a standby, or default_transaction_read_only); name the primary in store.url' },
  {
    reason: '53300',
    advice: 'it has no connection left; raise max_connections or the limit of the role or database, or run fewer gateways',
  },
  { reason: 'ECONNREFUSED', advice: 'nothing listens at its address; check store.url, and that the server runs' },
  { reason: 'no TLS', advice: 'store.url asks for TLS (sslmode), which the server does not offer' },
  { reason: 'ENOENT', advice: 'a file that store.url names (sslrootcert, sslcert or sslkey) is not there' },
  { reason: 'ENOTFOUND', advice: 'its host cannot be looked up; check store.url' },
] as const;

/** On a connection of its own: a step over a large table, or the wait for another gateway's step, may take minutes. */
async function migratePostgres(url: Secret): Promise<void> {
  const sessions = await postgresSessions({ url, connections: 1, statementLimit: 600_000 });
  const query = kyselyOver('postgres', sessions);
  try {
    await migrate({ query, dialect: 'postgres', migrations, part: 'main' });
  } catch (error) {
    throw explained(error);
  } finally {
    await sessions.close();
  }
}

/** What to do about a PostgreSQL that cannot be used. */
function explained(error: unknown): unknown {
  if (!(error instanceof GatewayError && error.cause instanceof Error) || error.cause.message === 'store: schema') return error;
  const { message } = error.cause;
  const known = startFaults.find(({ reason }) => message === `store: ${reason}`);
  return new GatewayError(
    'store-unavailable',
    `PostgreSQL cannot be used (${message}): ${known?.advice ?? 'check store.url, the rights of its user, and that the server answers'}.`,
    { cause: error.cause },
  );
}

function kyselyOver(dialect: 'sqlite' | 'postgres', sessions: SessionSource): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: createSessionDialect(dialect, sessions) });
}
