import { Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Secret } from '#base/secret.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations.ts';
import { createPostgresSessions } from './postgres-sessions.ts';
import { createSessionDialect } from './session-dialect.ts';
import { cannotOpen } from './sqlite-connection.ts';
import { SqliteSessions } from './sqlite-sessions.ts';
import { storeUnavailable } from './store-failure.ts';
import type { SessionSource } from './store-session.ts';
import type { Tables } from './tables.ts';
import { watchAvailability } from './watch-availability.ts';

/** Where the gateway keeps what must outlive it. `file` is an absolute path. */
export type StoreOptions =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: Secret };

/**
 * The open store. Every statement rejects with a `store-unavailable` GatewayError (503) where the store cannot take it, and with
 * `StatementRefused` where the store said no; neither shows a value of the statement.
 */
export interface Database {
  /** Also `query.transaction().execute(work)`; on SQLite a transaction holds the one connection, so keep it short. */
  readonly query: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  /** A transaction that no other writer of `table` runs beside, in whichever gateway. */
  exclusively<T>(table: keyof Tables, work: (transaction: Transaction<Tables>) => Promise<T>): Promise<T>;
  /** Resolves where the store answers within a second; `store-unavailable` where not. */
  ping(): Promise<void>;
  /** Waits for statements that are running; every later one is `store-unavailable`. */
  close(): Promise<void>;
}

interface OpenOptions {
  readonly store: StoreOptions;
  readonly log: Log;
}

/** Opens the store and brings its schema up to date. Rejects with `store-unavailable` and what to do about it. */
export async function openDatabase({ store, log }: OpenOptions): Promise<Database> {
  const dialect = store.kind;
  if (store.kind === 'postgres') await migratePostgres(store.url);
  const sessions =
    store.kind === 'sqlite'
      ? new SqliteSessions(store.file)
      : createPostgresSessions({ url: store.url, connections: 10, statementLimit: 10_000 });
  const query = kyselyOver(dialect, watchAvailability(sessions, log));
  try {
    if (dialect === 'sqlite') await migrate({ query, dialect, migrations });
  } catch (error) {
    await sessions.close();
    throw store.kind === 'sqlite' ? namingFile(error, store.file) : error;
  }
  return {
    query,
    dialect,
    exclusively: (table, work) =>
      query.transaction().execute(async (transaction) => {
        // Readers pass (mode `share row exclusive`); on SQLite every transaction is alone already.
        if (dialect === 'postgres') await sql`lock table ${sql.table(table)} in share row exclusive mode`.execute(transaction);
        return await work(transaction);
      }),
    ping: () => answered(sql`select 1`.execute(query)),
    close: () => sessions.close(),
  };
}

/** A file that opens may still turn out to be damaged once its schema is read. */
function namingFile(error: unknown, file: string): unknown {
  const cause = error instanceof GatewayError && error.cause instanceof Error ? error.cause.message : '';
  const resultCode = /SQLite (\d+)$/u.exec(cause)?.[1];
  return resultCode === undefined ? error : cannotOpen(file, Number(resultCode));
}

/** Milliseconds. A readiness probe is not to wait in the queue of a store that is stuck. */
const pingLimit = 1_000;

async function answered(statement: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(storeUnavailable('slow')), pingLimit);
  });
  try {
    await Promise.race([statement, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** On a connection of its own: a step over a large table, or the wait for another gateway's step, may take minutes. */
async function migratePostgres(url: Secret): Promise<void> {
  const sessions = createPostgresSessions({ url, connections: 1, statementLimit: 600_000 });
  const query = kyselyOver('postgres', sessions);
  try {
    await migrate({ query, dialect: 'postgres', migrations });
  } catch (error) {
    if (error instanceof GatewayError && error.cause instanceof Error) {
      throw new GatewayError(
        'store-unavailable',
        `PostgreSQL cannot be used (${error.cause.message}): check store.url, the rights of its user, and that the server answers.`,
        { cause: error.cause },
      );
    }
    throw error;
  } finally {
    await sessions.close();
  }
}

function kyselyOver(dialect: 'sqlite' | 'postgres', sessions: SessionSource): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: createSessionDialect(dialect, sessions) });
}
