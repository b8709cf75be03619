/**
 * The worker thread that owns a connection to a SQLite file. A commit waits for fsync (synchronous=FULL), so that an acknowledged write
 * survives a power cut. In this thread the wait does not block the event loop of the gateway.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { type PackedRows, type SqliteValue, unpack, unpackRows } from './packed-values.ts';
import type { SqliteReply, SqliteRequest, SqliteRow, SqliteWorkerData } from './sqlite-messages.ts';

const preparedAtMost = 256;
/**
 * Rows in one insert, the larger number while enough rows are left, then one by one: three statements are prepared for any number of rows.
 * More rows at once gain little. SQLite takes 32,766 parameters (sqlite.org/limits.html).
 */
const rowsAtOnce = [32, 8];

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

interface Runner {
  run(sql: string, parameters: readonly SqliteValue[]): Success;
  /** `into` is the statement up to its VALUES. All rows or none. */
  insert(into: string, rows: PackedRows): Success;
}

function createRunner(database: DatabaseSync): Runner {
  const prepared = new Map<string, Prepared>();
  const prepare = (sql: string): Prepared => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    // Every integer is read as a bigint: reading one beyond 2^53 as a number would throw.
    statement.setReadBigInts(true);
    const entry = { statement, givesRows: statement.columns().length > 0 };
    if (prepared.size >= preparedAtMost) prepared.clear();
    prepared.set(sql, entry);
    return entry;
  };
  return {
    run(sql, parameters) {
      const { statement, givesRows } = prepare(sql);
      if (givesRows) return { kind: 'succeeded', rows: statement.all(...parameters).map(withPlainIntegers) };
      return { kind: 'succeeded', rows: [], affected: Number(statement.run(...parameters).changes) };
    },
    insert(into, rows) {
      const row = `(${'?, '.repeat(rows.width).slice(0, -2)})`;
      const one = `${into} values ${row}`;
      const insertAll = (): number => {
        let affected = 0;
        for (const values of unpackRows(rows, rowsAtOnce)) {
          const { statement } = prepare(one + `, ${row}`.repeat(values.length / rows.width - 1));
          affected += Number(statement.run(...values).changes);
        }
        return affected;
      };
      // A single row needs no explicit transaction.
      const isOnly = rows.figures.length === rows.width;
      return { kind: 'succeeded', rows: [], affected: isOnly ? insertAll() : inTransaction(database, insertAll) };
    },
  };
}

/** Runs in the open transaction, whose owner rolls it back; without one, in a transaction of its own. */
function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  if (database.isTransaction) return work();
  database.exec('begin immediate');
  try {
    const result = work();
    database.exec('commit');
    return result;
  } catch (error) {
    // After a full disk or an I/O error SQLite has rolled back already.
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
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
  const runner = createRunner(database);
  port.on('message', (request: SqliteRequest) => {
    if (request.kind === 'close') {
      database.close();
      port.close();
      return;
    }
    try {
      const success =
        request.kind === 'run' ? runner.run(request.sql, unpack(request.parameters)) : runner.insert(request.into, request.rows);
      send({ ...success, id: request.id });
    } catch (error) {
      send({ kind: 'failed', id: request.id, resultCode: resultCodeOf(error) });
    }
  });
  send({ kind: 'opened' });
}

serve(workerData as SqliteWorkerData);
