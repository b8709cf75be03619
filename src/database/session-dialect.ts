import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { StatementRefused, storeUnavailable } from './store-failure.ts';
import type { SessionSource, StoreSession } from './store-session.ts';

/**
 * A Kysely dialect over our own sessions. Kysely's own driver for SQLite blocks the event loop, and that for PostgreSQL passes on errors
 * that quote values.
 */
export function createSessionDialect(kind: 'sqlite' | 'postgres', source: SessionSource): Dialect {
  const createDriver = (): Driver => createSessionDriver(source);
  return kind === 'sqlite'
    ? {
        createDriver,
        createAdapter: () => new QueuedSqliteAdapter(),
        createQueryCompiler: () => new SqliteQueryCompiler(),
        createIntrospector: (query) => new SqliteIntrospector(query),
      }
    : {
        createDriver,
        createAdapter: () => new PostgresAdapter(),
        createQueryCompiler: () => new PostgresQueryCompiler(),
        createIntrospector: (query) => new PostgresIntrospector(query),
      };
}

/**
 * Our sessions have a semaphore. Kysely's own lock for single connections waits without a limit, and is never released where a connection
 * cannot be opened (kysely 0.29.9, RuntimeDriver.acquireConnection).
 */
class QueuedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

function createSessionDriver(source: SessionSource): Driver {
  const sessions = new WeakMap<DatabaseConnection, StoreSession>();
  return {
    init: async () => {},
    acquireConnection: async () => {
      const session = await source.open();
      const connection = connectionOver(session);
      sessions.set(connection, session);
      return connection;
    },
    beginTransaction: async (connection) => {
      await connection.executeQuery(CompiledQuery.raw(source.begin));
    },
    commitTransaction: async (connection) => {
      const answer = await sessions.get(connection)?.run('commit', []);
      // PostgreSQL answers COMMIT with the tag ROLLBACK where a statement of the transaction had failed.
      if (answer?.command === 'ROLLBACK') throw storeUnavailable('transaction was rolled back');
    },
    rollbackTransaction: async (connection) => {
      try {
        await connection.executeQuery(CompiledQuery.raw('rollback'));
      } catch (error) {
        // After a full disk or an I/O error SQLite has rolled back already, and refuses this statement.
        if (!(error instanceof StatementRefused)) throw error;
      }
    },
    releaseConnection: async (connection) => {
      sessions.get(connection)?.release();
    },
    destroy: () => source.close(),
  };
}

function connectionOver(session: StoreSession): DatabaseConnection {
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const { rows, affected } = await session.run(query.sql, query.parameters);
      const result = { rows: rows as R[] };
      return affected === undefined ? result : { ...result, numAffectedRows: BigInt(affected) };
    },
    // oxlint-disable-next-line require-yield -- the interface asks for a generator; long lists are read page by page instead
    async *streamQuery() {
      throw new Error('The store streams no rows: read them in pages by key.');
    },
  };
}
