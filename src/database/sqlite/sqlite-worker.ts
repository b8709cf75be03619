/**
 * The worker thread that owns a connection to a SQLite file. A commit waits for fsync (synchronous=FULL), so that an acknowledged write
 * survives a power cut. In this thread the wait does not block the event loop of the gateway.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { SqliteReply, SqliteRequest, SqliteRow, SqliteValue, SqliteWorkerData } from './sqlite-messages.ts';

const maxPrepared = 256;
interface Prepared {
  readonly statement: StatementSync;
  readonly givesRows: boolean;
}

function openFile({ file, readOnly, attached, cache }: SqliteWorkerData): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly });
  // Another process (the command line, a back-up) may have the write lock: SQLite waits for it, in milliseconds.
  database.exec('pragma busy_timeout = 5000');
  // Negative: KiB instead of pages (sqlite.org/pragma.html#pragma_cache_size).
  database.exec(`pragma cache_size = -${cache}`);
  // The statement journal is kept in memory: an import would make four million writes to a temporary file.
  if (!readOnly) database.exec('pragma temp_store = memory');
  if (!readOnly) database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
  // The second file is read-only where the first one is.
  if (attached !== undefined) database.prepare('attach database ? as ?').run(attached.file, attached.name);
  // Reads the header of the file, which the pragmas above do not always read: a damaged file is refused here.
  database.exec('select count(*) from sqlite_schema');
  return database;
}

type Success = Omit<SqliteReply & { kind: 'succeeded' }, 'id'>;

function createRunner(database: DatabaseSync): (sql: string, parameters: readonly SqliteValue[]) => Success {
  const prepared = new Map<string, Prepared>();
  const prepare = (sql: string): Prepared => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    // Every integer is read as a bigint: reading one beyond 2^53 as a number would throw.
    statement.setReadBigInts(true);
    const entry = { statement, givesRows: statement.columns().length > 0 };
    if (prepared.size >= maxPrepared) prepared.clear();
    prepared.set(sql, entry);
    return entry;
  };
  return (sql, parameters) => {
    const { statement, givesRows } = prepare(sql);
    if (givesRows) return { kind: 'succeeded', rows: statement.all(...parameters).map(withPlainIntegers) };
    return { kind: 'succeeded', rows: [], affected: Number(statement.run(...parameters).changes) };
  };
}

/** Converts safe integers to numbers; others stay bigint. */
function withPlainIntegers(row: Readonly<Record<string, SqliteValue>>): SqliteRow {
  const plain: Record<string, SqliteValue> = {};
  for (const [name, value] of Object.entries(row)) {
    plain[name] = typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  return plain;
}

function resultCodeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' ? code : 0;
}

function serve(data: SqliteWorkerData): void {
  const port = parentPort;
  if (port === null) throw new Error('sqlite-worker.ts runs as a worker thread only.');
  const send = (reply: SqliteReply): void => port.postMessage(reply);
  let database: DatabaseSync;
  try {
    database = openFile(data);
  } catch (error) {
    send({ kind: 'refused', resultCode: resultCodeOf(error) });
    port.close();
    return;
  }
  const run = createRunner(database);
  port.on('message', (request: SqliteRequest) => {
    if (request.kind === 'close') {
      database.close();
      port.close();
      return;
    }
    try {
      send({ ...run(request.sql, request.parameters), id: request.id });
    } catch (error) {
      send({ kind: 'failed', id: request.id, resultCode: resultCodeOf(error) });
    }
  });
  send({ kind: 'opened' });
}

serve(workerData as SqliteWorkerData);
