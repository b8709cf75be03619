import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Kysely } from 'kysely';
import { systemClock } from '../src/base/clock.ts';
import type { StoreOptions } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { migrations } from '../src/database/migrations.ts';
import { createPostgresSessions } from '../src/database/postgres-sessions.ts';
import { createSessionDialect } from '../src/database/session-dialect.ts';
import { SqliteSessions } from '../src/database/sqlite-sessions.ts';
import { fileOf } from '../src/database/store-part.ts';
import type { Tables } from '../src/database/tables.ts';
import { newRun, seesNothing } from '../src/runs/run-records.test-support.ts';
import { createRunStore } from '../src/runs/run-store.ts';
import { eachStore } from './support/stores/stores.ts';

/** Connections to the part `runs` of a store, without a migration. */
function connect(t: TestContext, store: StoreOptions): Kysely<Tables> {
  const sessions =
    store.kind === 'sqlite'
      ? new SqliteSessions({ file: fileOf('runs', store.file), kind: 'write', cache: 2_048 })
      : createPostgresSessions({ url: store.url, connections: 1, statementLimit: 10_000, idleLimit: 5_000 });
  t.after(() => sessions.close());
  return new Kysely<Tables>({ dialect: createSessionDialect(store.kind, sessions) });
}

eachStore((store) => {
  test('a store from before there were runs keeps its run facts and takes runs', async (t) => {
    const options = await store.fresh(t);
    const query = connect(t, options);
    const before = migrations.filter(({ number }) => number < 9);
    await migrate({ query, dialect: store.dialect, migrations: before, part: 'runs' });
    const fact = { automation_id: new Uint8Array([97]), field: 'lastRunAt' as const, revision: 7, at_key: null };
    await query.insertInto('run_fact').values(fact).execute();
    const database = await store.open(t, options);
    const facts = await database.read.selectFrom('run_fact').select(['field', 'revision']).execute();
    assert.deepEqual(facts, [{ field: 'lastRunAt', revision: 7 }]);
    const runs = createRunStore({ database, clock: systemClock, visible: seesNothing });
    t.after(() => runs.close());
    await runs.create([newRun({ id: 'r' })]);
    const [claimed] = await runs.claim({ owner: 'one', limit: 1, lease: 60_000 });
    assert.equal(claimed?.id, 'r');
    const wake = (await runs.nextWake()) ?? 0;
    assert.ok(wake > systemClock.now() && wake <= systemClock.now() + 120_000);
  });
});
