import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Semaphore } from '#base/semaphore.ts';
import { systemCode } from '#base/system-code.ts';
import { every } from '#base/timing/every.ts';
import { storeUnavailable } from '../store-failure.ts';
import type { SessionSource, StoreFigures, StoreSession } from '../store-session.ts';
import { makeDirectory } from './make-directory.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import type { AttachedFile } from './sqlite-messages.ts';

/** Milliseconds a call waits for a connection before it rejects with `store-unavailable`. */
const connectionWait = 10_000;
/** The catalogue takes four at most (automation-store.ts): the others are for logins, runs and the audit log. */
const readers = 8;
/** Milliseconds. A connection that nothing uses for so long ends, since its thread takes 8 MiB. */
const idleLimit = 5_000;
/** Milliseconds that a call waits for a connection in use before a thread for another one starts, which takes as long. */
const handOverWait = 50;

interface SqliteSessionsOptions {
  readonly file: string;
  /** `write`: one connection, because a SQLite file has a single writer. `read`: several that only read, each at its own moment. */
  readonly kind: 'read' | 'write';
  /** A writer takes the write locks of both files (`begin immediate`), and a commit over both would not be atomic: it writes one. */
  readonly attached?: AttachedFile;
  /** KiB of pages that each connection keeps in memory. */
  readonly cache: number;
}

/**
 * Connections, each lent to one caller at a time: groups take turns, and callers of a group come in the order of the calls. A worker thread starts when a caller needs it, also after the
 * one before ended. The writer creates the file (mode 0600) and its directory (0700).
 */
export class SqliteSessions implements SessionSource {
  readonly begin: string;
  readonly #options: SqliteSessionsOptions;
  readonly #permits: Semaphore;
  /** The last one is taken first. */
  readonly #idle: SqliteConnection[] = [];
  /** So many of `#idle`, the first ones, were not taken since the last look. */
  #unused = 0;
  readonly #looking: ReturnType<typeof every>;
  /** Calls that wait for a connection in use. */
  readonly #wanted: ((connection: SqliteConnection) => void)[] = [];
  readonly #connections: number;
  #closed = false;

  constructor(options: SqliteSessionsOptions) {
    this.#options = options;
    // Takes the write lock at once: of two transactions that read first and then write, one would fail.
    this.begin = options.kind === 'write' ? 'begin immediate' : 'begin';
    this.#connections = options.kind === 'write' ? 1 : readers;
    this.#permits = new Semaphore(this.#connections);
    this.#looking = every(
      idleLimit,
      () => this.#closeUnused(),
      () => {},
    );
  }

  async open(group?: string): Promise<StoreSession> {
    await this.#acquire(group);
    try {
      if (this.#closed) throw storeUnavailable('closed');
      const connection = await this.#alive();
      return { run: (sql, parameters) => connection.run(sql, parameters), release: () => this.#takeBack(connection) };
    } catch (error) {
      this.#permits.release();
      throw error;
    }
  }

  figures(): StoreFigures {
    const idle = this.#idle.filter((connection) => !connection.gone).length;
    return { busy: this.#closed ? 0 : this.#permits.inFlight, idle, waiting: this.#permits.waiting };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    try {
      await Promise.all(Array.from({ length: this.#connections }, () => this.#acquire()));
    } finally {
      this.#closed = true;
      await this.#looking.stop();
      await Promise.all(this.#idle.map((connection) => connection.close()));
    }
    for (let count = 0; count < this.#connections; count += 1) this.#permits.release();
  }

  async #alive(): Promise<SqliteConnection> {
    for (;;) {
      const idle = this.#idle.pop();
      this.#unused = Math.min(this.#unused, this.#idle.length);
      if (idle === undefined) break;
      if (!idle.gone) return idle;
    }
    const handedOver = this.#permits.inFlight > 1 ? await this.#handedOver() : undefined;
    if (handedOver !== undefined) return handedOver;
    const { file, kind, attached, cache } = this.#options;
    if (kind === 'write') await prepareFile(file);
    return SqliteConnection.open({ file, readOnly: kind === 'read', attached, cache });
  }

  #handedOver(): Promise<SqliteConnection | undefined> {
    const { promise, resolve } = Promise.withResolvers<SqliteConnection | undefined>();
    const take = (connection: SqliteConnection): void => {
      clearTimeout(timer);
      resolve(connection);
    };
    this.#wanted.push(take);
    const timer = setTimeout(() => {
      this.#wanted.splice(this.#wanted.indexOf(take), 1);
      resolve(undefined);
    }, handOverWait);
    return promise;
  }

  async #closeUnused(): Promise<void> {
    const unused = this.#idle.splice(0, this.#unused);
    this.#unused = this.#idle.length;
    await Promise.all(unused.map((connection) => connection.close()));
  }

  #takeBack(connection: SqliteConnection): void {
    // A connection that is returned after `close` would keep the process alive.
    if (this.#closed) void connection.close();
    else if (!connection.gone) (this.#wanted.shift() ?? ((one) => this.#idle.push(one)))(connection);
    this.#permits.release();
  }

  #acquire(group = ''): Promise<void> {
    return this.#permits.acquire({
      group,
      limit: connectionWait,
      late: () => storeUnavailable('waited too long for a connection'),
    });
  }
}

async function prepareFile(file: string): Promise<void> {
  try {
    await makeDirectory(dirname(file));
    // SQLite gives its -wal and -shm files the mode of the database.
    const handle = await open(file, 'a', 0o600);
    await handle.close();
  } catch (error) {
    throw storeUnavailable(systemCode(error) ?? 'unknown');
  }
}
