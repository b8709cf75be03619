import { rmSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { noLog } from '../../../src/base/log.ts';
import { openDatabase, type StoreOptions } from '../../../src/database/database.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';

/**
 * The options of a store whose tables exist, and have no rows but those of the migrations. A migration takes longer than most tests. So the
 * stores of SQLite are copies of one. A schema of PostgreSQL is emptied and used again once no connection to it is open.
 */
export type TakeStore = (owner: Owner) => Promise<StoreOptions>;

const newDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'gateway-store-'));

let original: Promise<string> | undefined;

async function makeOriginal(): Promise<string> {
  const directory = await newDirectory();
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  await migrate({ kind: 'sqlite', file: join(directory, 'gateway.db') });
  return directory;
}

/** Copies an empty store to `gateway.db` and the files next to it. */
export async function copyEmptyStore(directory: string): Promise<void> {
  original ??= makeOriginal();
  await cp(await original, directory, { recursive: true });
}

export const takeSqliteStore: TakeStore = async (owner) => {
  const directory = await newDirectory();
  owner.after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  await copyEmptyStore(directory);
  return { kind: 'sqlite', file: join(directory, 'gateway.db') };
};

/** `fresh`: gives stores without tables, whose connections have the name of their schema as `application_name`. */
export function takePostgresStores(fresh: TakeStore): TakeStore {
  const used: StoreOptions[] = [];
  const closing: (() => unknown)[] = [];
  // Files of tests that run in this process one after the other use the same stores.
  process.once('beforeExit', () => void Promise.all(closing.map((close) => close())));
  let emptying: Promise<string> | undefined;
  const make = async (): Promise<StoreOptions> => {
    const store = await fresh({ after: (close) => void closing.push(close) });
    await migrate(store);
    emptying ??= withClient(store, emptyingStatements);
    await emptying;
    return store;
  };
  const takeUsed = async (): Promise<StoreOptions | undefined> => {
    const store = used.shift();
    if (store === undefined) return undefined;
    const isEmptied = await withClient(store, async (client) => {
      if (!(await isAlone(client))) return false;
      await client.query((await emptying) ?? '');
      return true;
    });
    if (isEmptied) return store;
    used.push(store);
    return undefined;
  };
  return async (owner) => {
    const store = (await takeUsed()) ?? (await make());
    owner.after(() => void used.push(store));
    return store;
  };
}

/** Hooks of a test run in the order of their registration, so its gateway may have the store open for another moment. */
async function isAlone(client: Client): Promise<boolean> {
  for (let left = 50; left > 0; left -= 1) {
    const { rows } = await client.query(
      `select from pg_stat_activity where application_name = current_setting('application_name') and pid <> pg_backend_pid()`,
    );
    if (rows.length === 0) return true;
    await lapse(10, 'PostgreSQL may end connections');
  }
  return false;
}

async function migrate(store: StoreOptions): Promise<void> {
  const database = await openDatabase({ store, log: noLog });
  await database.close();
}

/** Deleted rows stay in the file of a table until a vacuum, and would slow later tests down. To truncate a small table takes longer. */
const truncateLarge = `do $$ declare name text; begin
  for name in select relname from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and pg_relation_size(oid) > 1000000
  loop execute format('truncate %I', name); end loop; end $$`;

/** What brings a store back to its present rows, as one text of statements. PostgreSQL runs it in one transaction. */
async function emptyingStatements(client: Client): Promise<string> {
  const { rows: relations } = await client.query<{ name: string; kind: 'r' | 'S' }>(
    `select relname as name, relkind as kind from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'S') order by relname`,
  );
  const statements = ["set local lock_timeout = '10s'", truncateLarge];
  for (const { name, kind } of relations) {
    if (kind === 'S') {
      statements.push(`select setval('${name}', 1, false)`);
      continue;
    }
    statements.push(`delete from ${name}`);
    const { rows } = await client.query<{ row: string }>(`select row_to_json(t)::text as row from ${name} t`);
    for (const { row } of rows)
      statements.push(
        `insert into ${name} select * from json_populate_record(null::${name}, ${client.escapeLiteral(row)}::json)`,
      );
  }
  return statements.join(';\n');
}

async function withClient<T>(store: StoreOptions, work: (client: Client) => Promise<T>): Promise<T> {
  if (store.kind !== 'postgres') throw new Error('The store is not on PostgreSQL.');
  const client = new Client({ connectionString: store.url.reveal(), connectionTimeoutMillis: 5_000, query_timeout: 60_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
