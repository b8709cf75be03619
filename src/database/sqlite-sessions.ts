import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Semaphore } from '#base/semaphore.ts';
import { systemCode } from '#base/system-code.ts';
import { makeDirectory } from './make-directory.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import type { AttachedFile } from './sqlite-messages.ts';
import { storeUnavailable } from './store-failure.ts';
import type { SessionSource, StoreFigures, StoreSession } from './store-session.ts';

/** Milliseconds a call waits for a connection before it rejects with `store-unavailable`. */
const connectionWait = 10_000;
/** The catalogue takes four at most (automation-store.ts): the others are for logins, runs and the audit log. */
const readers = 8;

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
  readonly #idle: SqliteConnection[] = [];
  readonly #connections: number;
  #closed = false;

  constructor(options: SqliteSessionsOptions) {
    this.#options = options;
    // Takes the write lock at once: of two transactions that read first and then write, one would fail.
    this.begin = options.kind === 'write' ? 'begin immediate' : 'begin';
    this.#connections = options.kind === 'write' ? 1 : readers;
    this.#permits = new Semaphore(this.#connections);
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
      await Promise.all(this.#idle.map((connection) => connection.close()));
    }
    for (let count = 0; count < this.#connections; count += 1) this.#permits.release();
  }

  async #alive(): Promise<SqliteConnection> {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) break;
      if (!idle.gone) return idle;
    }
    const { file, kind, attached, cache } = this.#options;
    if (kind === 'write') await prepareFile(file);
    return SqliteConnection.open({ file, readOnly: kind === 'read', attached, cache });
  }

  #takeBack(connection: SqliteConnection): void {
    // A connection that is returned after `close` would keep the process alive.
    if (this.#closed) void connection.close();
    else if (!connection.gone) this.#idle.push(connection);
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
