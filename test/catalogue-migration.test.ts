import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { Kysely, sql } from 'kysely';
import type { Principal } from '../src/access/principal.ts';
import { testAdmin } from '../src/access/rights/rights.test-support.ts';
import { type Automation, textFields, textOf } from '../src/automations/automation.ts';
import { catalogueOn } from '../src/automations/automation-catalogue.test-support.ts';
import { type AutomationCatalogue } from '../src/automations/automation-catalogue.ts';
import { noteRun } from '../src/automations/store/run-facts.test-support.ts';
import { foldText } from '../src/automations/store/sort-key.ts';
import { GatewayError } from '../src/base/gateway-error.ts';
import type { StoreOptions } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { migrations } from '../src/database/migrations.ts';
import { createPostgresSessions } from '../src/database/postgres/postgres-sessions.ts';
import { createSessionDialect } from '../src/database/session-dialect.ts';
import { SqliteSessions } from '../src/database/sqlite/sqlite-sessions.ts';
import type { Tables } from '../src/database/tables/tables.ts';
import { oldDocuments, oldStore } from './support/stores/earlier-store.ts';
import { eachStore } from './support/stores/stores.ts';

const admin: Principal = { id: 'ada', username: 'ada', roles: ['admin'], groups: [] };

async function exported(catalogue: AutomationCatalogue): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const batch of catalogue.export({ principal: testAdmin })) texts.push(...batch);
  return texts.map((line) => line.replace(/^\{"kind":"automation","document":|\}$/gu, ''));
}

function tagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
}

/** Connections to a store without a migration. */
function connect(t: TestContext, store: StoreOptions): Kysely<Tables> {
  const sessions =
    store.kind === 'sqlite'
      ? new SqliteSessions({ file: store.file, kind: 'write', cache: 2_048 })
      : createPostgresSessions({ url: store.url, connections: 1, statementLimit: 10_000, idleLimit: 60_000 });
  t.after(() => sessions.close());
  return new Kysely<Tables>({ dialect: createSessionDialect(store.kind, sessions) });
}

eachStore((store) => {
  test('a store of version 0.1.0 keeps every document, its order and its run facts', async (t) => {
    const database = await store.open(t, await oldStore(t, store));
    const catalogue = catalogueOn(database);
    assert.deepEqual(
      await exported(catalogue),
      oldDocuments.map(({ text }) => text),
    );
    const documents = oldDocuments.map(({ text }) => JSON.parse(text) as Automation);
    for (const sort of textFields) {
      const keyOf = (automation: Automation): Buffer | undefined => {
        const text = textOf(automation, sort);
        return text === undefined ? undefined : Buffer.from(foldText(text));
      };
      // `oldDocuments` is alphabetical, and a sort is stable.
      const ordered = documents.toSorted((a, b) => {
        const [left, right] = [keyOf(a), keyOf(b)];
        if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
        return Buffer.compare(left, right);
      });
      for (const order of [1, -1] as const) {
        const { list, total } = await catalogue.list({
          principal: admin,
          options: { limit: 100, skip: 0, sort, order, filters: [] },
        });
        const ids = list.map((text) => (JSON.parse(text) as Automation)._id);
        const expected = (order === 1 ? ordered : ordered.toReversed()).map(({ _id }) => _id);
        assert.deepEqual([ids, total], [expected, oldDocuments.length], `${sort} ${order}`);
      }
    }
    const noc = await catalogue.list({
      principal: { id: 'rosa', username: 'rosa', roles: ['readonly'], groups: ['noc'] },
      options: { limit: 0, skip: 0, sort: 'name', order: 1, filters: [] },
    });
    const kept = (groups: readonly string[] = []): boolean => groups.length === 0 || groups.includes('noc');
    assert.equal(noc.total, documents.filter(({ data }) => kept(data?.gbac?.read)).length);
  });

  test('the ETags of a store of version 0.1.0 cover neither run facts nor who changed a document last', async (t) => {
    const database = await store.open(t, await oldStore(t, store));
    const catalogue = catalogueOn(database);
    for (const old of oldDocuments) {
      const { _id: id, lastRunAt, nextRunAt, lastModifiedBy, ...rest } = JSON.parse(old.text) as Automation;
      const { text, tag } = await catalogue.read({ principal: admin, id });
      assert.equal(text, old.text);
      assert.equal(tag, tagOf(JSON.stringify({ _id: id, ...rest })));
      if (lastRunAt === undefined && nextRunAt === undefined && lastModifiedBy === undefined) assert.equal(tag, old.tag);
      await noteRun(database, id, { lastRunAt: '2026-06-01T00:00:00.000Z', nextRunAt: null });
      const noted = await catalogue.read({ principal: admin, id });
      assert.deepEqual(JSON.parse(noted.text), {
        _id: id,
        ...rest,
        ...(lastModifiedBy !== undefined && { lastModifiedBy }),
        lastRunAt: '2026-06-01T00:00:00.000Z',
      });
      assert.equal(noted.tag, tag);
      // A patch without a change of a fact needs the ETag that a reader got before the run.
      await catalogue.patch({ principal: admin, id, preconditions: { ifMatch: tag }, patch: { repeatInterval: '99 days' } });
      const stale = catalogue.remove({ principal: admin, id, preconditions: { ifMatch: tag } });
      await assert.rejects(stale, (error) => error instanceof GatewayError && error.code === 'precondition-failed');
    }
  });

  test('a migration of version 0.1.0 that fails half-way leaves the store as it was, and the next start migrates it', async (t) => {
    const options = await oldStore(t, store);
    const query = connect(t, options);
    const rows = async () => (await sql`select * from automation order by id`.execute(query)).rows;
    const before = await rows();
    const failing = migrations.map((migration) => ({
      ...migration,
      up: async (...given: Parameters<typeof migration.up>) => {
        await migration.up(...given);
        if (migration.name === 'automation-run-facts') throw new Error('stopped half-way');
      },
    }));
    await assert.rejects(migrate({ query, dialect: store.dialect, migrations: failing, part: 'main' }), /half-way/u);
    assert.deepEqual(await rows(), before);
    const catalogue = catalogueOn(await store.open(t, options));
    assert.deepEqual(
      await exported(catalogue),
      oldDocuments.map(({ text }) => text),
    );
  });
});
