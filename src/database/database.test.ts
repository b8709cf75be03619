// suite: long

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import { eachStore, sqliteStore } from '../../test/support/stores/stores.ts';
import { openDatabase } from './database.ts';
import { migrate, migrationsOf } from './migrate.ts';
import type { Migration } from './migration.ts';
import { migrations } from './migrations.ts';
import { StatementRefused } from './store-failure.ts';

function isUniqueViolation(error: unknown): boolean {
  return error instanceof StatementRefused && error.kind === 'unique';
}

const key = { kid: 'k1', private_jwk: '{}', public_jwk: '{}', created_at: 1, retired_at: null };

function isUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'store-unavailable' && error.status === 503;
}

eachStore((store) => {
  test('a row is there after the store was closed and opened', async (t) => {
    const options = await store.fresh(t);
    const first = await openDatabase({ store: options, log: noLog });
    await first.query.insertInto('signing_key').values(key).execute();
    await first.close();
    const second = await store.open(t, options);
    assert.deepEqual(await second.query.selectFrom('signing_key').selectAll().execute(), [key]);
  });

  test('integers come back as numbers, and as bigint where a number would lose digits', async (t) => {
    const database = await store.open(t);
    const { rows } = await sql`select cast(9007199254740991 as bigint) as exact, cast(9223372036854775807 as bigint) as large,
      count(*) as counted from signing_key`.execute(database.query);
    assert.deepEqual(rows, [{ exact: 9007199254740991, large: 9223372036854775807n, counted: 0 }]);
  });

  test('a violated unique key has an error of its own, which shows no value', async (t) => {
    const database = await store.open(t);
    await database.query.insertInto('signing_key').values(key).execute();
    await assert.rejects(
      database.query
        .insertInto('signing_key')
        .values({ ...key, private_jwk: 'geheim' })
        .execute(),
      (error) => {
        assert.ok(isUniqueViolation(error));
        assert.doesNotMatch(JSON.stringify(error) + String(error) + String((error as Error).stack), /geheim|k1/u);
        return true;
      },
    );
    await assert.rejects(sql`select geheim from nowhere`.execute(database.query), (error) => {
      assert.ok(!isUniqueViolation(error) && !isUnavailable(error));
      return true;
    });
  });

  test('a transaction that throws leaves nothing behind, also after a failed statement', async (t) => {
    const database = await store.open(t);
    await assert.rejects(
      database.query.transaction().execute(async (transaction) => {
        await transaction.insertInto('signing_key').values(key).execute();
        await transaction.insertInto('signing_key').values(key).execute();
      }),
      isUniqueViolation,
    );
    assert.deepEqual(await database.query.selectFrom('signing_key').select('kid').execute(), []);
  });

  test('exclusive transactions on a table run one after the other, on all gateways', async (t) => {
    const options = await store.fresh(t);
    const [one, two] = [await store.open(t, options), await store.open(t, options)];
    const made = await Promise.all(
      [one, two, one, two, one, two, one, two].map((gateway) =>
        gateway.exclusively('signing_key', async (transaction) => {
          const { count } = await transaction
            .selectFrom('signing_key')
            .select((expression) => expression.fn.countAll<number>().as('count'))
            .executeTakeFirstOrThrow();
          await transaction
            .insertInto('signing_key')
            .values({ ...key, kid: `k${count}` })
            .execute();
          return count;
        }),
      ),
    );
    assert.deepEqual(
      made.toSorted((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
  });

  test('gateways that start at once on an empty store migrate it once', async (t) => {
    const options = await store.fresh(t);
    const gateways = await Promise.all(Array.from({ length: 4 }, () => store.open(t, options)));
    for (const gateway of gateways) {
      const rows = await gateway.query.selectFrom('schema_migration').select('number').execute();
      assert.deepEqual(
        rows.map((row) => row.number),
        migrationsOf({ dialect: store.dialect, migrations, part: 'main' }).map((migration) => migration.number),
      );
    }
  });

  test('a migration that fails leaves nothing behind and is taken again', async (t) => {
    const database = await store.open(t);
    let broken = true;
    const extra: Migration = {
      number: 9001,
      name: 'extra',
      part: 'main',
      async up(transaction) {
        await transaction.schema.createTable('extra').addColumn('id', 'text').execute();
        if (broken) throw new Error('stopped half-way');
      },
    };
    const run = (): Promise<void> =>
      migrate({ query: database.query, dialect: store.dialect, migrations: [...migrations, extra], part: 'main' });
    await assert.rejects(run(), /half-way/u);
    broken = false;
    await run();
    await run();
    await sql`select id from extra`.execute(database.query);
  });

  test('a store that a newer gateway has migrated is refused, and the error says what to do', async (t) => {
    const options = await store.fresh(t);
    const database = await store.open(t, options);
    await database.query.insertInto('schema_migration').values({ number: 9999, name: 'future', applied_at: 1 }).execute();
    await assert.rejects(openDatabase({ store: options, log: noLog }), /schema 9999.*start the newer gateway/u);
  });

  test('ping answers while the store is open, and a closed store is unavailable', async (t) => {
    const options = await store.fresh(t);
    const database = await openDatabase({ store: options, log: noLog });
    await database.ping();
    await database.close();
    await database.close();
    // Three times: the first rejection once kept Kysely's lock, and the second call waited for ever.
    for (let count = 0; count < 3; count += 1) await assert.rejects(database.ping(), isUnavailable);
  });
});

eachStore((store) => {
  test('readers see committed rows, during a transaction of a writer, at one moment', async (t) => {
    const database = await store.open(t);
    const kids = async (query = database.read): Promise<readonly string[]> =>
      (await query.selectFrom('signing_key').select('kid').orderBy('kid').execute()).map(({ kid }) => kid);
    await database.query.transaction().execute(async (writing) => {
      await writing.insertInto('signing_key').values(key).execute();
      assert.deepEqual(await kids(), []);
      await database.ping();
    });
    await database.read.transaction().execute(async (moment) => {
      assert.deepEqual(await kids(moment), ['k1']);
      await database.query
        .insertInto('signing_key')
        .values({ ...key, kid: 'k2' })
        .execute();
      assert.deepEqual(await kids(moment), ['k1']);
    });
    assert.deepEqual(await kids(), ['k1', 'k2']);
    await assert.rejects(database.read.transaction().execute((moment) => moment.deleteFrom('signing_key').execute()));
    assert.deepEqual(await kids(), ['k1', 'k2']);
  });
});

suite('SQLite alone', () => {
  test('a connection that is not returned delays close for ten seconds, and no other connection stays open', async (t) => {
    const options = await sqliteStore.fresh(t);
    const database = await openDatabase({ store: options, log: noLog });
    const query = async (by: 'query' | 'read'): Promise<unknown> => database[by].selectFrom('signing_key').selectAll().execute();
    await Promise.all([query('read'), query('query')]);
    const release = Promise.withResolvers<void>();
    // A test that fails before its end would otherwise leave threads, and the process would not end.
    t.after(async () => {
      release.resolve();
      await database.close();
    });
    const begun = Promise.withResolvers<void>();
    const held = database.read.transaction().execute(async () => {
      begun.resolve();
      await release.promise;
    });
    await begun.promise;
    await Promise.all([query('read'), query('read')]);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const closing = assert.rejects(database.close(), isUnavailable);
    t.mock.timers.tick(10_000);
    await closing;
    const { idle, busy } = database.figures();
    assert.deepEqual([idle, busy], [0, 0]);
    await assert.rejects(query('query'), isUnavailable);
    release.resolve();
    await held;
  });

  test('the file and its directory are made, readable by the owner only', async (t) => {
    const options = await sqliteStore.fresh(t);
    assert.ok(options.kind === 'sqlite');
    const file = join(dirname(options.file), 'deeper', 'still', 'gateway.db');
    await sqliteStore.open(t, { kind: 'sqlite', file });
    for (const name of [file, `${file}-wal`]) assert.equal((await stat(name)).mode & 0o777, 0o600);
  });

  test('commits wait for the disk and foreign keys hold', async (t) => {
    const database = await sqliteStore.open(t);
    const pragma = async (name: string): Promise<unknown> => (await sql.raw(`pragma ${name}`).execute(database.query)).rows[0];
    assert.deepEqual(await pragma('journal_mode'), { journal_mode: 'wal' });
    assert.deepEqual(await pragma('synchronous'), { synchronous: 2 });
    assert.deepEqual(await pragma('foreign_keys'), { foreign_keys: 1 });
  });

  test('a closed store has no write-ahead log, also after reads', async (t) => {
    const options = await sqliteStore.fresh(t);
    assert.ok(options.kind === 'sqlite');
    for (let round = 0; round < 10; round += 1) {
      const database = await openDatabase({ store: options, log: noLog });
      await Promise.all([1, 2, 3].map(() => database.read.selectFrom('signing_key').selectAll().execute()));
      await database.query.deleteFrom('signing_key').execute();
      await database.close();
      await assert.rejects(stat(`${options.file}-wal`), { code: 'ENOENT' });
    }
  });

  test('a file that is no database is refused and left as it is', async (t) => {
    const options = await sqliteStore.fresh(t);
    assert.ok(options.kind === 'sqlite');
    await writeFile(options.file, 'this is a shopping list, not a database. '.repeat(100));
    await assert.rejects(openDatabase({ store: options, log: noLog }), /no SQLite database/u);
    assert.equal((await stat(options.file)).size, 4100);
    const directory = join(dirname(options.file), 'directory.db');
    await mkdir(directory);
    await assert.rejects(openDatabase({ store: { kind: 'sqlite', file: directory }, log: noLog }), isUnavailable);
  });

  test('the records are a file of their own, with a writer of their own, and it does not open as the store', async (t) => {
    const options = await sqliteStore.fresh(t);
    assert.ok(options.kind === 'sqlite');
    const { query, records, read } = await sqliteStore.open(t, options);
    await query.transaction().execute(async (writing) => {
      await writing.insertInto('signing_key').values(key).execute();
      // With one writer for both this would wait for ever.
      await records.updateTable('audit_chain').set({ alive_until: 1 }).execute();
    });
    await assert.rejects(sql`select 1 from signing_key`.execute(records));
    await assert.rejects(sql`select 1 from audit_entry`.execute(query));
    await sql`select 1 from signing_key, audit_entry, run`.execute(read);
    const recordsFile = join(dirname(options.file), 'gateway.audit.db');
    assert.equal((await stat(recordsFile)).mode & 0o777, 0o600);
    await assert.rejects(sqliteStore.open(t, { kind: 'sqlite', file: recordsFile }), /another part .* another file name/u);
  });

  test('a worker that ends rejects its calls with 503, and the next call starts another', async (t) => {
    const workers: Worker[] = [];
    const remember = (worker: Worker): void => void workers.push(worker);
    process.on('worker', remember);
    t.after(() => process.off('worker', remember));
    const database = await sqliteStore.open(t);
    await database.query.insertInto('signing_key').values(key).execute();
    const slow = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000000) select count(*) as c from n`;
    const running = assert.rejects(slow.execute(database.query), isUnavailable);
    const started = workers.length;
    await Promise.all(workers.map((worker) => worker.terminate()));
    await running;
    assert.equal((await database.query.selectFrom('signing_key').selectAll().execute()).length, 1);
    assert.equal(workers.length, started + 1);
  });

  test('a lock that another process holds too long is 503, and no update is lost', async (t) => {
    const options = await sqliteStore.fresh(t);
    const holder = await sqliteStore.open(t, options);
    const other = await sqliteStore.open(t, options);
    await sql`pragma busy_timeout = 50`.execute(other.query);
    await holder.query.transaction().execute(async (transaction) => {
      await transaction.insertInto('signing_key').values(key).execute();
      await assert.rejects(
        other.query
          .insertInto('signing_key')
          .values({ ...key, kid: 'k2' })
          .execute(),
        isUnavailable,
      );
    });
    await other.query
      .insertInto('signing_key')
      .values({ ...key, kid: 'k2' })
      .execute();
  });
});

suite('PostgreSQL alone', () => {
  test('a server that does not answer is 503, which says what to check and shows no password', async () => {
    for (const url of ['postgres://u:geheim@127.0.0.1:1/db', 'postgres://u:geheim@[broken/db']) {
      await assert.rejects(openDatabase({ store: { kind: 'postgres', url: new Secret(url) }, log: noLog }), (error) => {
        assert.ok(isUnavailable(error));
        assert.match(String(error), /check store\.url/u);
        assert.doesNotMatch(String((error as Error).stack) + String((error as Error).cause), /geheim/u);
        return true;
      });
    }
  });
});

eachStore((store) => {
  test('a database or a user that PostgreSQL does not know is named so, and a file of its URL that is not there', {
    skip: store.dialect === 'sqlite',
  }, async (t) => {
    const options = await store.fresh(t);
    assert.ok(options.kind === 'postgres');
    const { query } = await store.open(t, options);
    const role = `gateway_test_${randomBytes(8).toString('hex')}`;
    await sql.raw(`create role ${role} login`).execute(query);
    const { rows } = await sql<{ name: string }>`select current_schema() as name`.execute(query);
    await sql.raw(`grant usage on schema ${rows[0]?.name} to ${role}`).execute(query);
    const [nowhere, nobody, noFile, noSchema, noRights] = Array.from({ length: 5 }, () => new URL(options.url.reveal())) as [
      URL,
      URL,
      URL,
      URL,
      URL,
    ];
    noSchema.searchParams.set('options', '-c search_path=no_such_schema');
    noRights.username = role;
    nowhere.pathname = '/no_such_database';
    noFile.search = '?sslmode=verify-full&sslrootcert=/nowhere/ca.pem';
    nobody.username = 'no_such_user';
    for (const [url, advice] of [
      [nowhere, /3D000.*does not exist; create it/u],
      [nobody, /28000.*does not let the user of store\.url in/u],
      [noFile, /ENOENT.*sslrootcert.*is not there/u],
      [noSchema, /3F000.*search_path/u],
      [noRights, /42501.*no right to create or use the tables/u],
    ] as const)
      await assert.rejects(openDatabase({ store: { kind: 'postgres', url: new Secret(url.href) }, log: noLog }), advice);
    await sql.raw(`drop owned by ${role}; drop role ${role}`).execute(query);
  });

  test('a transaction in which a failure was caught does not count as committed', {
    skip: store.dialect === 'sqlite' && 'SQLite goes on after it',
  }, async (t) => {
    const { query } = await store.open(t);
    const work = query.transaction().execute(async (transaction) => {
      await sql`select no_such_column`.execute(transaction).catch(() => undefined);
    });
    await assert.rejects(work, isUnavailable);
  });

  test('a transaction without a statement holds its locks for some seconds only', {
    skip: store.dialect === 'sqlite' && 'PostgreSQL only',
  }, async (t) => {
    const options = await store.fresh(t);
    const [asleep, other] = [await store.open(t, options), await store.open(t, options)];
    const { promise: wokenUp, resolve: wakeUp } = Promise.withResolvers<void>();
    const { promise: locked, resolve: hasLock } = Promise.withResolvers<void>();
    const lock = sql`select pg_advisory_xact_lock(8191)`;
    const standing = asleep.query.transaction().execute(async (transaction) => {
      await lock.execute(transaction);
      hasLock();
      await wokenUp;
      await sql`select 1`.execute(transaction);
    });
    const refused = assert.rejects(standing, isUnavailable);
    await locked;
    // A statement waits for a lock for 10 s at most.
    await other.query.transaction().execute((transaction) => lock.execute(transaction));
    wakeUp();
    await refused;
  });

  test('connections that the server ends are replaced', { skip: store.dialect === 'sqlite' && 'PostgreSQL only' }, async (t) => {
    const options = await store.fresh(t);
    const [victim, other] = [await store.open(t, options), await store.open(t, options)];
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(victim.query);
    const running = assert.rejects(sql`select pg_sleep(20)`.execute(victim.query), isUnavailable);
    await sql`select pg_sleep(0.1), pg_terminate_backend(${rows[0]?.pid ?? 0})`.execute(other.query);
    await running;
    await victim.ping();
  });
});
