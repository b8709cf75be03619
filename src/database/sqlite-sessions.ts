import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Semaphore } from '#base/semaphore.ts';
import { systemCode } from '#base/system-code.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { storeUnavailable } from './store-failure.ts';
import type { SessionSource, StoreFigures, StoreSession } from './store-session.ts';

/** How long a call waits for its turn before it is told that the store is unavailable. */
const turnLimit = 10_000;
/** One more than the catalogue takes (automation-store.ts): whoever logs in finds a connection, however much is searched. */
const readers = 5;

interface SqliteSessionsOptions {
  readonly file: string;
  /** `write`: one connection, for SQLite knows a single writer. `read`: several that only read, each at a moment of its own. */
  readonly kind: 'read' | 'write';
  /**
   * A second file, whose tables every connection sees too, under the name `runs`. For readers alone: `begin immediate` would take the
   * write locks of both files.
   */
  readonly attached?: string;
}

/**
 * Connections lent to one caller at a time, in the order they came. A worker is started when it is first needed, and again
 * after it died. The writer creates the file (mode 0600) and its directory (0700).
 */
export class SqliteSessions implements SessionSource {
  readonly begin: string;
  readonly #options: SqliteSessionsOptions;
  readonly #turns: Semaphore;
  readonly #idle: SqliteConnection[] = [];
  readonly #connections: number;
  #closed = false;

  constructor(options: SqliteSessionsOptions) {
    this.#options = options;
    // The write lock is taken at once: two transactions that read first and then both want to write would fail on each other.
    this.begin = options.kind === 'write' ? 'begin immediate' : 'begin';
    this.#connections = options.kind === 'write' ? 1 : readers;
    this.#turns = new Semaphore(this.#connections);
  }

  async open(): Promise<StoreSession> {
    await this.#turn();
    try {
      if (this.#closed) throw storeUnavailable('closed');
      const connection = await this.#alive();
      return { run: (sql, parameters) => connection.run(sql, parameters), release: () => this.#giveBack(connection) };
    } catch (error) {
      this.#turns.release();
      throw error;
    }
  }

  figures(): StoreFigures {
    const idle = this.#idle.filter((connection) => !connection.gone).length;
    return { busy: this.#closed ? 0 : this.#connections - this.#turns.free, idle, waiting: this.#turns.waiting };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    try {
      await Promise.all(Array.from({ length: this.#connections }, () => this.#turn()));
    } finally {
      this.#closed = true;
      await Promise.all(this.#idle.map((connection) => connection.close()));
    }
    for (let count = 0; count < this.#connections; count += 1) this.#turns.release();
  }

  async #alive(): Promise<SqliteConnection> {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) break;
      if (!idle.gone) return idle;
    }
    const { file, kind, attached } = this.#options;
    if (kind === 'write') await prepareFile(file);
    return SqliteConnection.open({ file, readOnly: kind === 'read', attached });
  }

  #giveBack(connection: SqliteConnection): void {
    // One that comes back after the end would keep the process alive.
    if (this.#closed) void connection.close();
    else if (!connection.gone) this.#idle.push(connection);
    this.#turns.release();
  }

  #turn(): Promise<void> {
    return this.#turns.acquire({ limit: turnLimit, late: () => storeUnavailable('waited too long for a connection') });
  }
}

async function prepareFile(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite gives its -wal and -shm files the mode of the database.
    const handle = await open(file, 'a', 0o600);
    await handle.close();
  } catch (error) {
    throw storeUnavailable(systemCode(error) ?? 'unknown');
  }
}
