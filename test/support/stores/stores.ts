import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { type Log, noLog } from '../../../src/base/log.ts';
import { Secret } from '../../../src/base/secret.ts';
import { type Database, openDatabase, type StoreOptions } from '../../../src/database/database.ts';
import type { StorePart } from '../../../src/database/store-part.ts';
import type { Owner } from '../owner.ts';

/** A kind of store for tests. Each `fresh` one is empty, and is removed with its test. */
export interface TestStore {
  readonly dialect: 'sqlite' | 'postgres';
  /** The options of an empty store, which one gateway or several can open. */
  fresh(owner: Owner): Promise<StoreOptions>;
  /** Opens a store (a fresh one where none is given) and closes it after the test. */
  open(t: TestContext, store?: StoreOptions, log?: Log): Promise<Database>;
  /** As `open`, for the part with the audit log. */
  openAudit(t: TestContext, store?: StoreOptions): Promise<Database>;
}

const postgresUrl = await findPostgres();

/**
 * Registers the tests of `define` once on SQLite and once on PostgreSQL: at `TEST_POSTGRES_URL`, else at 127.0.0.1:5432
 * where one answers. Without a server they are skipped, with a message, or fail where CI=true.
 */
export function eachStore(define: (store: TestStore) => void): void {
  suite('on SQLite', () => define(sqliteStore));
  const found = foundPostgres;
  if (found !== undefined) {
    suite('on PostgreSQL', () => define(found));
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
  open: (t, store, log) => openFor(t, { kind: sqliteStore, part: 'main', store, log }),
  openAudit: (t, store) => openFor(t, { kind: sqliteStore, part: 'audit', store }),
};

/** The PostgreSQL that `eachStore` found, if any. */
export const foundPostgres: TestStore | undefined = postgresUrl === undefined ? undefined : postgresStore(postgresUrl);

/** The value for `store.url` of a configuration. */
export function storeUrl(store: StoreOptions): string {
  return store.kind === 'sqlite' ? `sqlite:${store.file}` : store.url.reveal();
}

/** A schema of its own in the given database: as separate as a database, and created faster. */
function postgresStore(url: string): TestStore {
  const postgres: TestStore = {
    dialect: 'postgres',
    async fresh(owner) {
      const schema = `gateway_test_${randomBytes(8).toString('hex')}`;
      await execute(url, `create schema ${schema}`);
      owner.after(() => execute(url, `drop schema ${schema} cascade`));
      const address = new URL(url);
      address.searchParams.set('options', `-c search_path=${schema}`);
      return { kind: 'postgres', url: new Secret(address.href) };
    },
    open: (t, store, log) => openFor(t, { kind: postgres, part: 'main', store, log }),
    openAudit: (t, store) => openFor(t, { kind: postgres, part: 'audit', store }),
  };
  return postgres;
}

interface Opening {
  readonly kind: TestStore;
  readonly part: StorePart;
  readonly store: StoreOptions | undefined;
  readonly log?: Log | undefined;
}

async function openFor(t: TestContext, { kind, part, store, log = noLog }: Opening): Promise<Database> {
  const database = await openDatabase({ store: store ?? (await kind.fresh(t)), part, log });
  t.after(() => database.close());
  return database;
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
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
