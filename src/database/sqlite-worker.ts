/**
 * The worker thread that owns the SQLite file: a commit waits for fsync (synchronous=FULL, so that what was acknowledged
 * survives a power cut), and that wait may not stand on the gateway's event loop.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { type PackedRows, type SqliteValue, unpack, unpackRows } from './packed-values.ts';
import type { SqliteReply, SqliteRequest, SqliteRow, SqliteWorkerData } from './sqlite-messages.ts';

const preparedAtMost = 256;
/**
 * Rows in one insert, as many as are left; then one by one, so that three statements are prepared, however many rows come. More at once
 * gain little. SQLite takes 32,766 parameters (sqlite.org/limits.html).
 */
const rowsAtOnce = [32, 8];

interface Prepared {
  readonly statement: StatementSync;
  readonly givesRows: boolean;
}

function openFile({ file, readOnly, attached }: SqliteWorkerData): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly });
  // Another process (a second gateway, a back-up) may hold the write lock: wait for it, here, for five seconds.
  database.exec('pragma busy_timeout = 5000');
  // The page cache (2 MiB by default) holds the upper levels of every index of a large catalogue; KiB, taken as they are needed.
  database.exec(`pragma cache_size = -${readOnly ? 32_768 : 65_536}`);
  // What a statement could have to undo is written down page by page: in memory, for an import would write four million pieces to a file.
  if (!readOnly) database.exec('pragma temp_store = memory');
  if (!readOnly) database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
  // It opens the second file as the first one: where that is read-only, so is this.
  if (attached !== undefined) database.prepare('attach database ? as runs').run(attached);
  // The pragmas above do not read the header of every damaged file; this does.
  database.exec('select count(*) from sqlite_schema');
  return database;
}

type Done = Omit<SqliteReply & { kind: 'done' }, 'id'>;

interface Runner {
  run(sql: string, parameters: readonly SqliteValue[]): Done;
  /** `into` is the statement up to its VALUES. All rows or none. */
  insert(into: string, rows: PackedRows): Done;
}

function createRunner(database: DatabaseSync): Runner {
  const prepared = new Map<string, Prepared>();
  const prepare = (sql: string): Prepared => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    // Every integer is read as a bigint: as a number, one beyond 2^53 would throw.
    statement.setReadBigInts(true);
    const entry = { statement, givesRows: statement.columns().length > 0 };
    if (prepared.size >= preparedAtMost) prepared.clear();
    prepared.set(sql, entry);
    return entry;
  };
  return {
    run(sql, parameters) {
      const { statement, givesRows } = prepare(sql);
      if (givesRows) return { kind: 'done', rows: statement.all(...parameters).map(withPlainIntegers) };
      return { kind: 'done', rows: [], affected: Number(statement.run(...parameters).changes) };
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
      // An only row is a transaction of its own.
      const isOnly = rows.figures.length === rows.width;
      return { kind: 'done', rows: [], affected: isOnly ? insertAll() : inTransaction(database, insertAll) };
    },
  };
}

/** In the transaction that is open, whoever began it undoes it; else in one of its own. */
function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  if (database.isTransaction) return work();
  database.exec('begin immediate');
  try {
    const result = work();
    database.exec('commit');
    return result;
  } catch (error) {
    // After a full disk or an I/O error SQLite has rolled back by itself.
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Integers that a number holds exactly become numbers; the others stay bigint. */
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
  const say = (reply: SqliteReply): void => port.postMessage(reply);
  let database: DatabaseSync;
  try {
    database = openFile(data);
  } catch (error) {
    say({ kind: 'refused', resultCode: resultCodeOf(error) });
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
      const done =
        request.kind === 'run' ? runner.run(request.sql, unpack(request.parameters)) : runner.insert(request.into, request.rows);
      say({ ...done, id: request.id });
    } catch (error) {
      say({ kind: 'failed', id: request.id, resultCode: resultCodeOf(error) });
    }
  });
  say({ kind: 'opened' });
}

serve(workerData as SqliteWorkerData);
