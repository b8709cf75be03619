import { Pool, type PoolClient, types } from 'pg';
import type { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import { postgresFailureKind, storeFailure, storeUnavailable } from './store-failure.ts';
import type { SessionSource, StatementResult, StoreSession } from './store-session.ts';

export interface PostgresSessionsOptions {
  readonly url: Secret;
  /** Maximum number of connections. */
  readonly connections: number;
  /** Milliseconds a statement may take. */
  readonly statementLimit: number;
  /** Milliseconds that a transaction may be without a statement. After it the server ends the session, and with it the locks. */
  readonly idleLimit: number;
}

/** OID of `bigint` (`select oid from pg_type where typname = 'int8'`). */
const int8 = 20;

/**
 * A pool of connections. A connection that failed is closed, and the next call opens another: the gateway recovers as soon as
 * PostgreSQL answers. The time limit for a connection is 5 s.
 */
export function createPostgresSessions(options: PostgresSessionsOptions): SessionSource {
  const pool = new Pool({
    connectionString: options.url.reveal(),
    application_name: 'orchestration-gateway',
    max: options.connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    statement_timeout: options.statementLimit,
    // The server's error does not reach a client whose packets are lost: this limit of the client ends the query a little later.
    query_timeout: options.statementLimit + 2_000,
    idle_in_transaction_session_timeout: options.idleLimit,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === int8 && format !== 'binary' ? parseInteger : types.getTypeParser(oid, format ?? 'text'),
    },
  });
  // The server ended an idle connection. The pool removes it, but an 'error' event without a listener would end the process.
  pool.on('error', () => {});
  // So would an error that arrives with the packet that ends the login: the pool has taken its listener off, and `open` has none yet.
  pool.on('connect', (client) => void client.on('error', () => {}));
  return {
    // Named, because the default of the database may be `serializable`, where unrelated calls would fail.
    begin: 'begin isolation level read committed',
    open: async () => {
      try {
        return sessionOver(await pool.connect());
      } catch (error) {
        throw storeUnavailable(reasonOf(error));
      }
    },
    figures: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  };
}

function sessionOver(client: PoolClient): StoreSession {
  let broken = false;
  const markBroken = (): void => {
    broken = true;
  };
  client.on('error', markBroken);
  return {
    async run(sql, parameters): Promise<StatementResult> {
      try {
        const { rows, rowCount, command } = await client.query<Record<string, unknown>>(sql, [...parameters]);
        return changesRows(command) ? { rows, command, affected: rowCount ?? 0 } : { rows, command };
      } catch (error) {
        const code = reasonOf(error);
        const kind = postgresFailureKind(code);
        if (kind === 'unavailable') markBroken();
        throw storeFailure(kind, code);
      }
    },
    release() {
      client.off('error', markBroken);
      client.release(broken);
    },
  };
}

function changesRows(command: string): boolean {
  return command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
}

/** Errors of pg itself have no code. Their texts have no data of statements, but a URL error quotes the URL. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return systemCode(error) ?? ownFaults.find(({ pattern }) => pattern.test(message))?.reason ?? 'no connection';
}

const ownFaults = [
  { pattern: /does not support SSL/u, reason: 'no TLS' },
  { pattern: /timeout/iu, reason: 'no answer in time' },
  { pattern: /Connection terminated/u, reason: 'the connection ended' },
] as const;

function parseInteger(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
