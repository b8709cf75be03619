import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { Client, DatabaseError } from 'pg';
import { type Log, noLog } from '../../../src/base/log.ts';
import { Secret } from '../../../src/base/secret.ts';
import { type Database, openDatabase, type StoreOptions } from '../../../src/database/database.ts';
import { type TakeStore, takePostgresStores, takeSqliteStore } from './empty-stores.ts';

/** A kind of store for tests. A test has a store of its own, which is removed with it. Gateways can open it: on SQLite one, on PostgreSQL several. */
export interface TestStore {
  readonly dialect: 'sqlite' | 'postgres';
  /** The options of a store without tables. */
  readonly fresh: TakeStore;
  /** The options of a store with empty tables. Much faster than `fresh`. */
  readonly empty: TakeStore;
  /** Opens a store (an empty one where none is given) and closes it after the test. */
  open(t: TestContext, store?: StoreOptions, log?: Log): Promise<Database>;
}

const postgresUrl = await findPostgres();

/**
 * Registers the tests of `define` once on SQLite and once on PostgreSQL: at `TEST_POSTGRES_URL`, else at 127.0.0.1:5432
 * where one answers. Without a server they are skipped, with a message, or fail where CI=true.
 */
export function eachStore(define: (store: TestStore) => void): void {
  eachStoreWith({ concurrency: 1 }, define);
}

/** As `eachStore`, with so many tests of a store at the same time: for tests that mostly wait. */
export function eachStoreWith(options: { readonly concurrency: number }, define: (store: TestStore) => void): void {
  suite('on SQLite', options, () => define(sqliteStore));
  if (process.env['TEST_STORES'] === 'sqlite') return;
  const found = foundPostgres;
  if (found !== undefined) {
    suite('on PostgreSQL', options, () => define(found));
    return;
  }
  const missing = 'no PostgreSQL answers at 127.0.0.1:5432 and TEST_POSTGRES_URL is not set';
  test('on PostgreSQL', { skip: process.env['CI'] === 'true' ? false : missing }, () => {
    throw new Error(`${missing}: with CI=true these tests must run.`);
  });
}

export const sqliteStore: TestStore = {
  dialect: 'sqlite',
  async fresh(owner) {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-store-'));
    owner.after(() => rm(directory, { recursive: true, force: true }));
    return { kind: 'sqlite', file: join(directory, 'gateway.db') };
  },
  empty: takeSqliteStore,
  open: openFrom(takeSqliteStore),
};

/** The PostgreSQL that `eachStore` found, if any. */
export const foundPostgres: TestStore | undefined = postgresUrl === undefined ? undefined : postgresStore(postgresUrl);

/** The value for `store.url` of a configuration. */
export function storeUrl(store: StoreOptions): string {
  return store.kind === 'sqlite' ? `sqlite:${store.file}` : store.url.reveal();
}

/** A schema of its own in the given database: as separate as a database, and created faster. */
function postgresStore(url: string): TestStore {
  const fresh: TestStore['fresh'] = async (owner) => {
    const schema = `gateway_test_${randomBytes(8).toString('hex')}`;
    await execute(url, `create schema ${schema}`);
    owner.after(() => dropSchema(url, schema));
    const address = new URL(url);
    address.searchParams.set('options', `-c search_path=${schema}`);
    address.searchParams.set('application_name', schema);
    return { kind: 'postgres', url: new Secret(address.href) };
  };
  const empty = takePostgresStores(fresh);
  return { dialect: 'postgres', fresh, empty, open: openFrom(empty) };
}

function openFrom(empty: TakeStore): TestStore['open'] {
  return async (t, given, log = noLog) => {
    const opened: { database?: Database } = {};
    // Hooks run in the order of their registration: this one before that of the store.
    t.after(() => opened.database?.close());
    opened.database = await openDatabase({ store: given ?? (await empty(t)), log });
    return opened.database;
  };
}

/**
 * Hooks of a test run in the order of their registration, so a gateway of the test may have the store open. PostgreSQL then ends the drop
 * or a statement of the gateway as a deadlock. A hook that fails would keep the later ones from running, and the process would not end.
 */
async function dropSchema(url: string, schema: string, attempts = 10): Promise<void> {
  try {
    await execute(url, `drop schema ${schema} cascade`);
  } catch (error) {
    if (attempts <= 1 || !(error instanceof DatabaseError && error.code === '40P01')) throw error;
    await dropSchema(url, schema, attempts - 1);
  }
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 60_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function findPostgres(): Promise<string | undefined> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') return given;
  const candidates = ['postgres://postgres@127.0.0.1:5432/test', 'postgres://postgres@127.0.0.1:5432/postgres'];
  for (const url of candidates) {
    try {
      await execute(url, 'select 1');
      return url;
    } catch {
      // the next one may answer
    }
  }
  return undefined;
}
