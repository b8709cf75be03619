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

/**
 * Counts runs in a store from outside, so that the waiting for their end costs no side anything but a query in its PostgreSQL. Each call
 * rejects where a run has failed.
 */
export async function runCounter(owner: Owner, { store, good, bad }: Counting): Promise<() => Promise<number>> {
  const text = `select (${good}) as good, (${bad}) as bad`;
  const ask = typeof store === 'string' ? askSqlite(owner, store, text) : await askPostgres(owner, store.url, text);
  return async () => {
    const found = await ask();
    const [ended, failed] = [Number(found.good), Number(found.bad)];
    if (failed > 0) throw new Error(`${failed} runs failed`);
    return ended;
  };
}

type Ask = () => Promise<Readonly<Record<'good' | 'bad', unknown>>>;

function askSqlite(owner: Owner, file: string, text: string): Ask {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  owner.after(() => database.close());
  const statement = database.prepare(text);
  return async () => statement.get() as { readonly good: unknown; readonly bad: unknown };
}

async function askPostgres(owner: Owner, url: string, text: string): Promise<Ask> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  owner.after(() => client.end().catch(() => undefined));
  return async () => (await client.query({ name: 'count', text })).rows[0] as { readonly good: unknown; readonly bad: unknown };
}
