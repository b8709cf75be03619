import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Owner } from '../../test/support/owner.ts';

/** A PostgreSQL server for one side alone. `pid`: its first process. */
export interface OwnServer {
  readonly url: string;
  readonly pid: number;
}

interface Counting {
  /** The store: a server, or the path of a SQLite file. */
  readonly store: OwnServer | string;
  /** SQL for the number of runs that ended well. */
  readonly good: string;
  /** SQL for the number of runs that failed. */
  readonly bad: string;
}

/** What a store holds and has done so far. */
export interface StoreUse {
  readonly bytes: number;
  /** Of PostgreSQL. */
  readonly transactions?: number;
  /** Bytes of the write-ahead log of PostgreSQL. */
  readonly wal?: number;
}

/** The runs of a side, seen from outside. */
export interface StoredRuns {
  /** Runs that ended well. Rejects where a run has failed. */
  ended(): Promise<number>;
  /** Without the transactions of `ended`. */
  use(): Promise<StoreUse>;
}

/** Looks into a store from outside, so that the waiting for the end of runs costs no side anything but a query in its PostgreSQL. */
export async function storedRuns(owner: Owner, { store, good, bad }: Counting): Promise<StoredRuns> {
  const text = `select (${good}) as good, (${bad}) as bad`;
  const asked = typeof store === 'string' ? askSqlite(owner, store) : await askPostgres(owner, store.url);
  return {
    use: () => asked.use(),
    async ended() {
      const found = await asked.ask(text);
      const [ended, failed] = [Number(found['good']), Number(found['bad'])];
      if (failed > 0) throw new Error(`${failed} runs failed`);
      return ended;
    },
  };
}

interface Asking extends Pick<StoredRuns, 'use'> {
  ask(text: string): Promise<Readonly<Record<string, unknown>>>;
}

function askSqlite(owner: Owner, file: string): Asking {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  owner.after(() => database.close());
  const directory = dirname(file);
  return {
    ask: async (text) => database.prepare(text).get() ?? {},
    async use() {
      const files = readdirSync(directory).filter((name) => name.includes('.db'));
      return { bytes: files.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0) };
    },
  };
}

async function askPostgres(owner: Owner, url: string): Promise<Asking> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  owner.after(() => client.end().catch(() => undefined));
  let asked = 0;
  const ask: Asking['ask'] = async (text) => {
    asked += 1;
    return (await client.query(text)).rows[0] as Readonly<Record<string, unknown>>;
  };
  return {
    ask,
    async use() {
      const found = await ask(`select pg_database_size(datname) as bytes, xact_commit as transactions,
        pg_current_wal_lsn() - '0/0' as wal from pg_stat_database where datname = current_database()`);
      return {
        bytes: Number(found['bytes']),
        transactions: Number(found['transactions']) - asked,
        wal: Number(found['wal']),
      };
    },
  };
}
