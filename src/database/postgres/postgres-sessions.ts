import { Client, type ClientConfig, Pool, type PoolClient, type QueryResult, types } from 'pg';
import type { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import { isLoginFailure, PostgresHosts, readOnly } from '../postgres-hosts.ts';
import { postgresFailureKind, storeFailure, storeUnavailable } from '../store-failure.ts';
import type { SessionSource, StatementResult, StoreSession } from '../store-session.ts';

export interface PostgresSessions extends SessionSource {
  /** The statement that opens a transaction which reads one moment of the store. */
  readonly beginReading: string;
}

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
 * Limits of a session in milliseconds, for statements outside of transactions. A pooler may lend the session to others afterwards, so every
 * connection of the gateway sets the same. They are statements and no parameters of the connection, which PgBouncer refuses.
 */
const sessionLimits = 'set statement_timeout = 10000; set idle_in_transaction_session_timeout = 5000; set jit = off';

/**
 * A pool of connections. A connection that failed is closed, and the next call opens another; where there are several hosts, to the next one. So
 * the gateway recovers as soon as PostgreSQL answers. The time limit for a connection is 5 s, or 2 s for each of several hosts.
 */
export function createPostgresSessions(options: PostgresSessionsOptions): PostgresSessions {
  const hosts = new PostgresHosts(options.url);
  const pool = createPool(hosts, options);
  /** Raised where a host turned read-only: the connections of before are closed before they are used again. */
  let generation = 0;
  const born = new WeakMap<PoolClient, number>();
  pool.on('connect', (client) => void born.set(client, generation));
  const connect = async (): Promise<PoolClient> => {
    for (;;) {
      const client = await pool.connect();
      if (born.get(client) === generation) return client;
      client.release(true);
    }
  };
  const turnedReadOnly = (): void => {
    // Of one server that stays read-only, each refused write would close all connections that read.
    if (hosts.needsPrimary) generation += 1;
  };
  // A transaction has its limits from its first message on: a pooler may give it a session without any.
  const limited = (begin: string): string =>
    `${begin}; set local statement_timeout = ${options.statementLimit}; set local idle_in_transaction_session_timeout = ${options.idleLimit}`;
  return {
    // Named, because the default of the database may be `serializable`, where unrelated calls would fail.
    begin: limited('begin isolation level read committed'),
    beginReading: limited('begin isolation level repeatable read read only'),
    open: async () => sessionOver(await connectToSome(hosts, connect), turnedReadOnly),
    figures: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  };
}

function createPool(hosts: PostgresHosts, options: PostgresSessionsOptions): Pool {
  /** Each connection goes to the host that is the current one then. */
  class HostClient extends Client {
    constructor(given?: ClientConfig) {
      super({ ...given, connectionString: hosts.url, connectionTimeoutMillis: hosts.patience });
    }
  }
  const pool = new Pool({
    Client: HostClient,
    application_name: 'orchestration-gateway',
    max: options.connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // The server's error does not reach a client whose packets are lost: this limit of the client ends the query a little later.
    query_timeout: options.statementLimit + 2_000,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === int8 && format !== 'binary' ? parseInteger : types.getTypeParser(oid, format ?? 'text'),
    },
    // oxlint-disable-next-line typescript/no-misused-promises -- pg-pool 3.14 waits for it; its types do not say so
    onConnect: async (client) => {
      const statement = { text: sessionLimits, query_timeout: hosts.patience };
      await client.query(statement);
      await hosts.check(client);
    },
  });
  // The server ended an idle connection. The pool removes it, but an 'error' event without a listener would end the process.
  pool.on('error', () => {});
  // So would an error that arrives with the packet that ends the login: the pool has taken its listener off, and `open` has none yet.
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}

/** Tries each host once, the current one first. Rejects with the different reasons of all. */
async function connectToSome(hosts: PostgresHosts, connect: () => Promise<PoolClient>): Promise<PoolClient> {
  const reasons = new Set<string>();
  for (let tried = 0; tried < hosts.count; tried += 1) {
    const host = hosts.current;
    try {
      return await connectRenewing(hosts, connect);
    } catch (error) {
      reasons.add(reasonOf(error));
      // All connections are busy, which says nothing of the host.
      if (error instanceof Error && /timeout exceeded/u.test(error.message)) break;
      hosts.leave(host);
    }
  }
  throw storeUnavailable([...reasons].join(', '));
}

/** A failed login reads `store.url` again, and a new password is tried at once: no query fails. */
async function connectRenewing(hosts: PostgresHosts, connect: () => Promise<PoolClient>): Promise<PoolClient> {
  const { url } = hosts;
  try {
    return await connect();
  } catch (error) {
    if (!isLoginFailure(systemCode(error)) || !(await hosts.renew(url))) throw error;
    return await connect();
  }
}

function sessionOver(client: PoolClient, turnedReadOnly: () => void): StoreSession {
  let broken = false;
  const markBroken = (): void => {
    broken = true;
  };
  client.on('error', markBroken);
  return {
    async run(sql, parameters): Promise<StatementResult> {
      try {
        // The text that begins a transaction has several statements, and an array of results.
        const results: QueryResult<Record<string, unknown>> | readonly unknown[] = await client.query(sql, [...parameters]);
        if (!('command' in results)) return { rows: [] };
        const { rows, rowCount, command } = results;
        return changesRows(command) ? { rows, command, affected: rowCount ?? 0 } : { rows, command };
      } catch (error) {
        const code = reasonOf(error);
        if (code === readOnlyState) turnedReadOnly();
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

/**
 * Errors of pg itself have no code. Their texts have no data of statements, but a URL error quotes the URL. Errors of PgBouncer have one code
 * for all.
 */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const known = ownFaults.find(({ pattern }) => pattern.test(message))?.reason;
  const code = systemCode(error);
  return code === undefined || code === protocolViolation ? (known ?? code ?? 'no connection') : code;
}

const protocolViolation = '08P01';
const readOnlyState = '25006';

const ownFaults = [
  { pattern: /^unsupported startup parameter/u, reason: 'unsupported startup parameter' },
  { pattern: /^read-only$/u, reason: readOnly },
  { pattern: /does not support SSL/u, reason: 'no TLS' },
  { pattern: /timeout/iu, reason: 'no answer in time' },
  { pattern: /Connection terminated/u, reason: 'the connection ended' },
] as const;

function parseInteger(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
