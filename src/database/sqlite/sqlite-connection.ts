import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { sqliteFailureKind, storeFailure, storeUnavailable } from '../store-failure.ts';
import type { StatementResult } from '../store-session.ts';
import type { SqliteReply, SqliteRequest, SqliteValue, SqliteWorkerData } from './sqlite-messages.ts';

interface Waiting {
  readonly resolve: (result: StatementResult) => void;
  readonly reject: (error: Error) => void;
}

/** The connection of the main thread to one SQLite worker. After the worker ended every call rejects with `store-unavailable`. */
export class SqliteConnection {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #gone = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Rejects with `store-unavailable` where the file cannot be opened or is no database. */
  static async open(workerData: SqliteWorkerData): Promise<SqliteConnection> {
    const connection = new SqliteConnection(new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData }));
    await connection.#opened(workerData.file);
    return connection;
  }

  get gone(): boolean {
    return this.#gone;
  }

  run(sql: string, parameters: readonly unknown[]): Promise<StatementResult> {
    if (this.#gone) return Promise.reject(storeUnavailable('sqlite worker is gone'));
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<StatementResult>();
    this.#post({ kind: 'run', id, sql, parameters: parameters.map(toSqliteValue) });
    this.#waiting.set(id, { resolve, reject });
    return promise;
  }

  /** Lets the worker run its queued statements, close the file (which checkpoints the write-ahead log) and end. */
  async close(): Promise<void> {
    if (this.#gone) return;
    const ended = once(this.#worker, 'exit');
    this.#post({ kind: 'close' });
    await ended;
  }

  #post(request: SqliteRequest): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread is no window and has no origin
    this.#worker.postMessage(request);
  }

  #opened(file: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#worker.on('message', (reply: SqliteReply) => {
      if (reply.kind === 'opened') resolve();
      else if (reply.kind === 'refused') reject(cannotOpen(file, reply.resultCode));
      else this.#answer(reply);
    });
    // An exception inside the worker. The event `exit` follows, which rejects the calls.
    this.#worker.on('error', () => {});
    this.#worker.on('exit', () => {
      this.#gone = true;
      const error = storeUnavailable('sqlite worker ended');
      reject(error);
      for (const { reject: fail } of this.#waiting.values()) fail(error);
      this.#waiting.clear();
    });
    return promise;
  }

  #answer(reply: Extract<SqliteReply, { readonly id: number }>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.kind === 'succeeded') waiting?.resolve(reply);
    else waiting?.reject(storeFailure(sqliteFailureKind(reply.resultCode), `SQLite ${reply.resultCode}`));
  }
}

/** The error for a file that cannot be opened, or whose schema cannot be brought up to date. */
export function cannotOpen(file: string, resultCode: number): Error {
  const damaged = isDamaged(resultCode);
  return storeUnavailable(
    `SQLite ${resultCode}`,
    damaged
      ? `${file} is no SQLite database, or a damaged one. It was left as it is: restore a back-up, or move it away to start with an empty one.`
      : `The SQLite file ${file} cannot be opened (result code ${resultCode}): check the path, the rights and the room on the disk.`,
  );
}

/** CORRUPT or NOTADB (sqlite.org/rescode.html). */
function isDamaged(resultCode: number): boolean {
  return [11, 26].includes(resultCode & 0xff);
}

function toSqliteValue(value: unknown): SqliteValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  // A copy: with a view of Node's pool the message would copy the whole pool.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  throw new TypeError(`A ${typeof value} is no value for a column.`);
}
