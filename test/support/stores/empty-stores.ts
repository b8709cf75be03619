import { rmSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { noLog } from '../../../src/base/log.ts';
import { openDatabase, type StoreOptions } from '../../../src/database/database.ts';
import type { Owner } from '../owner.ts';

/**
 * Stores whose tables exist, and have no rows but those of the migrations. A migration takes longer than most tests. So the stores of
 * SQLite are copies of one, and a schema of PostgreSQL is emptied and used again.
 */
export interface EmptyStores {
  take(): Promise<StoreOptions>;
  /** No connection to the store may be open. */
  giveBack(store: StoreOptions): Promise<void>;
}

type Fresh = (owner: Owner) => Promise<StoreOptions>;

export function emptySqliteStores(): EmptyStores {
  let original: Promise<string> | undefined;
  const newDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'gateway-store-'));
  const make = async (): Promise<string> => {
    const directory = await newDirectory();
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    const store = { kind: 'sqlite', file: join(directory, 'gateway.db') } as const;
    await migrate(store);
    return directory;
  };
  return {
    async take() {
      original ??= make();
      const directory = await newDirectory();
      await cp(await original, directory, { recursive: true });
      return { kind: 'sqlite', file: join(directory, 'gateway.db') };
    },
    async giveBack(store) {
      if (store.kind === 'sqlite') await rm(join(store.file, '..'), { recursive: true, force: true });
    },
  };
}

export function emptyPostgresStores(fresh: Fresh): EmptyStores {
  const free: StoreOptions[] = [];
  const closing: (() => unknown)[] = [];
  // Files of tests that run in this process one after the other use the same stores.
  process.once('beforeExit', () => void Promise.all(closing.map((close) => close())));
  let emptying: Promise<string> | undefined;
  return {
    async take() {
      const known = free.pop();
      if (known !== undefined) return known;
      const store = await fresh({ after: (close) => void closing.push(close) });
      await migrate(store);
      emptying ??= withClient(store, emptyingStatements);
      await emptying;
      return store;
    },
    async giveBack(store) {
      const statements = await emptying;
      if (statements === undefined) throw new Error('The store was not taken here.');
      await withClient(store, (client) => client.query(statements));
      free.push(store);
    },
  };
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
