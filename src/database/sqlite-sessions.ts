import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SqliteConnection } from './sqlite-connection.ts';
import { storeUnavailable } from './store-failure.ts';
import type { SessionSource, StoreSession } from './store-session.ts';

/** How long a call waits for its turn before it is told that the store is unavailable. */
const turnLimit = 10_000;

/**
 * One connection, lent to one caller at a time in the order they came: SQLite knows a single writer anyway. A worker that died
 * is started again by the next caller. Creates the file (mode 0600) and its directory (0700).
 */
export class SqliteSessions implements SessionSource {
  // The write lock is taken at once: two transactions that read first and then both want to write would fail on each other.
  readonly begin = 'begin immediate';
  readonly #file: string;
  readonly #queue: (() => void)[] = [];
  #connection: SqliteConnection | undefined;
  #lent = false;
  #closed = false;

  constructor(file: string) {
    this.#file = file;
  }

  async open(): Promise<StoreSession> {
    await this.#turn();
    try {
      if (this.#closed) throw storeUnavailable('closed');
      const connection = await this.#alive();
      return { run: (sql, parameters) => connection.run(sql, parameters), release: () => this.#next() };
    } catch (error) {
      this.#next();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#turn();
    this.#closed = true;
    this.#next();
    await this.#connection?.close();
  }

  async #alive(): Promise<SqliteConnection> {
    if (this.#connection === undefined || this.#connection.gone) {
      await prepareFile(this.#file);
      this.#connection = await SqliteConnection.open(this.#file);
    }
    return this.#connection;
  }

  #turn(): Promise<void> {
    if (!this.#lent) {
      this.#lent = true;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#queue.splice(this.#queue.indexOf(take), 1);
      reject(storeUnavailable('waited too long for the connection'));
    }, turnLimit);
    const take = (): void => {
      clearTimeout(timer);
      resolve();
    };
    this.#queue.push(take);
    return promise;
  }

  #next(): void {
    const take = this.#queue.shift();
    if (take === undefined) this.#lent = false;
    else take();
  }
}

async function prepareFile(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite gives its -wal and -shm files the mode of the database.
    const handle = await open(file, 'a', 0o600);
    await handle.close();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw storeUnavailable(
      code,
      `The SQLite file ${file} cannot be made (${code}): check the path, the rights and the room on the disk.`,
    );
  }
}
