// suite: long

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Database } from '../src/database/database.ts';
import { assertProblem } from './support/callers/calls.ts';
import { basic, type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { callersOf, involvedIn, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Rows of automations and forms that an earlier gateway wrote have the name of their last editor alone.

const automations = '/automation_catalog/automations';
const forms = '/automation_catalog/forms';
const schedule = { nextRunAt: '2999-01-01T00:00:00.000Z', repeatInterval: '1 day' };

interface Shown {
  readonly data: { readonly owner?: string; readonly scheduledBy?: string };
}

/** A gateway whose store can be made into one that an earlier gateway wrote. */
async function upgradeStage(t: TestContext, store: TestStore) {
  const options = await store.empty(t);
  const users = usersOf({ ...stagePeople, eve: { roles: ['engineering'], groups: ['noc'] } });
  let gateway: Gateway = await startGateway(t, { config: { store: { url: storeUrl(options) } }, users });
  const callers = callersOf(() => gateway);
  const { send } = callers;
  const create = async (as: 'ann' | 'eve', name: string, more: { readonly data?: object } = {}): Promise<string> => {
    const data = { workflowId: 'lab.plain', gbac: { write: ['noc'] }, ...more.data };
    const reply = await send(as, 'POST', automations, { name, ...schedule, ...more, data });
    assert.equal(reply.status, 201, reply.text);
    return (reply.json() as { readonly _id: string })._id;
  };
  return {
    ...callers,
    create,
    changed: async (as: keyof typeof stagePeople, method: string, target: string, body?: object): Promise<void> => {
      const reply = await send(as, method, target, body);
      assert.ok(reply.status < 300, reply.text);
    },
    importOne: async (document: object): Promise<void> => {
      const headers = { Authorization: basic('ann', testPassword), 'Content-Type': 'application/x-ndjson' };
      const body = `${JSON.stringify(document)}\n`;
      const reply = await gateway.send({ method: 'POST', target: '/automation_catalog/import', headers, body });
      assert.equal(reply.status, 200, reply.text);
    },
    /** Starts again on the rows of an earlier gateway. `last`: what the newest record names. */
    upgrade: async (last: string, change: (database: Database) => Promise<unknown> = () => Promise.resolve()): Promise<void> => {
      await until('all is on record', async () => (await send('ann', 'GET', '/audit?limit=1000')).text.includes(last));
      await gateway.stop();
      const database = await store.open(t, options);
      await database.query.updateTable('automation_text').set({ people: null }).execute();
      await database.query.updateTable('automation').set({ held: 1 }).execute();
      await database.query.deleteFrom('automation_person').execute();
      for (const { id, facts } of await database.query.selectFrom('form').select(['id', 'facts']).execute()) {
        const { writer: _, ...earlier } = JSON.parse(facts) as Record<string, unknown>;
        await database.query
          .updateTable('form')
          .set({ facts: JSON.stringify(earlier) })
          .where('id', '=', id)
          .execute();
      }
      await change(database);
      gateway = await gateway.restart();
    },
    people: async (id: string): Promise<readonly (string | undefined)[]> => {
      const { owner, scheduledBy } = ((await send('ann', 'GET', `${automations}/${id}`)).json() as Shown).data;
      return [owner, scheduledBy];
    },
    run: (id: string) => send('otto', 'POST', `${automations}/${id}/run`),
    logged: (name: string, text: string) => gateway.stderr.some((line) => line.includes(`"${name}"`) && line.includes(text)),
  };
}

const heldLine = 'no person is known to answer';

eachStore((store) => {
  test('an upgrade takes the authors of an automation from the records of all its writes since it was created', async (t) => {
    const { store: put, create, changed, upgrade, people, reaches, start, send, run, logged } = await upgradeStage(t, store);
    await put('bob', 'plain', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const missing = await create('eve', 'missing', { data: { workflowId: 'lab.later' } });
    const sole = await create('eve', 'sole');
    await changed('eve', 'PATCH', `${automations}/${sole}`, { data: { input: { a: 1 } } });
    const shared = await create('ann', 'shared');
    await changed('eve', 'PATCH', `${automations}/${shared}`, { data: { description: 'by eve' } });
    await upgrade(shared);
    assert.deepEqual(await people(sole), ['eve', 'eve']);
    assert.deepEqual(involvedIn(await reaches((await start('otto', sole)).id, 'completed')), [
      'bob: workflow',
      'eve: author',
      'otto: starter',
    ]);
    // Either of them may have written a value, and either may have scheduled it.
    assert.deepEqual(await people(shared), ['eve', undefined]);
    assert.deepEqual(involvedIn(await reaches((await start('otto', shared)).id, 'completed')), [
      'ann: author',
      'bob: workflow',
      'eve: author',
      'otto: starter',
    ]);
    const listed = await send('ann', 'GET', `${automations}?author=eve&sort=name`);
    assert.deepEqual(
      (listed.json() as { readonly list: readonly { readonly name: string }[] }).list.map(({ name }) => name),
      ['missing', 'shared', 'sole'],
    );
    for (const name of ['sole', 'shared']) assert.ok(!logged(name, heldLine));
    assert.deepEqual([logged('sole', 'scheduled an automation'), logged('shared', 'scheduled an automation')], [false, true]);
    // A workflow that appears after the upgrade finds no delegate.
    await put('bob', 'later', '1.0.0', [{ only: { set: { a: 1 } } }]);
    assertProblem(await run(missing), 409, 'delegation-lost');
    await changed('ann', 'POST', `${automations}/${missing}/take`);
    await reaches((await start('otto', missing)).id, 'completed');
  });

  test('an upgrade makes no person the author of what an import may have written, and the log names it', async (t) => {
    const { store: put, create, changed, importOne, upgrade, people, run, logged, reaches, start } = await upgradeStage(t, store);
    await put('bob', 'plain', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const again = await create('eve', 'again');
    await changed('eve', 'DELETE', `${automations}/${again}`);
    const before = await create('eve', 'before');
    const data = { workflowId: 'lab.plain', gbac: { write: ['noc'] }, lastUpdated: new Date().toISOString() };
    await importOne({ _id: again, name: 'again', data, lastModifiedBy: 'eve', ...schedule });
    // The earlier gateway recorded the same of each import.
    await changed('bob', 'PATCH', `${automations}/${again}`, { data: { description: 'by bob' } });
    const removed = await create('eve', 'removed');
    await changed('eve', 'DELETE', `${automations}/${removed}`);
    const restored = await create('eve', 'restored');
    const after = await create('eve', 'after');
    await upgrade(after, async (database) => {
      // Another program than the gateway wrote it: the command `import`, which has no record.
      const rows = await database.query.selectFrom('automation_text').select(['number', 'document']).execute();
      for (const { number, document } of rows.filter((row) => row.document.includes(restored)))
        await database.query
          .updateTable('automation_text')
          .set({ document: document.replace(/"lastUpdated":"[^"]+"/u, '"lastUpdated":"2020-01-01T00:00:00.000Z"') })
          .where('number', '=', number)
          .execute();
    });
    assert.deepEqual(await people(after), ['eve', 'eve']);
    for (const [name, id] of Object.entries({ again, before, restored })) {
      assert.deepEqual(await people(id), [undefined, undefined], name);
      assertProblem(await run(id), 409, 'delegation-lost');
      await changed('otto', 'PATCH', `${automations}/${id}`, { nextRunAt: 'next' });
      assertProblem(await run(id), 409, 'delegation-lost');
      assert.ok(logged(name, heldLine), name);
      await changed('ann', 'POST', `${automations}/${id}/take`);
      assert.deepEqual(await people(id), ['ann', 'ann'], name);
      await reaches((await start('otto', id)).id, 'completed');
    }
    assert.ok(!logged('after', heldLine));
  });

  test('an upgrade takes the writer of a form from the record of its last write, and names a form without one', async (t) => {
    const { store: put, create, changed, upgrade, start, reaches, logged } = await upgradeStage(t, store);
    await put('bob', 'plain', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const form = (title: string): object => ({ type: 'object', title, properties: {} });
    await changed('eve', 'PUT', `${forms}/known`, form('1'));
    await changed('bob', 'PUT', `${forms}/known`, form('2'));
    await changed('eve', 'PUT', `${forms}/renamed`, form('1'));
    const [known = '', renamed = ''] = await Promise.all(
      ['known', 'renamed'].map((formId) => create('ann', formId, { data: { formId } })),
    );
    const last = await create('ann', 'last');
    await upgrade(last, async ({ query }) => {
      // A name in the row does not make its principal the writer.
      const { facts } = await query
        .selectFrom('form')
        .select('facts')
        .where('id', '=', Buffer.from('renamed'))
        .executeTakeFirstOrThrow();
      await query
        .updateTable('form')
        .set({ facts: facts.replace('"eve"', '"bob"') })
        .where('id', '=', Buffer.from('renamed'))
        .execute();
    });
    const involved = async (id: string) => involvedIn(await reaches((await start('otto', id)).id, 'completed'));
    assert.deepEqual(await involved(known), ['ann: author', 'bob: workflow form', 'otto: starter']);
    assert.deepEqual(await involved(renamed), ['ann: author', 'bob: workflow', 'otto: starter']);
    assert.ok(logged('renamed', 'who wrote a form'));
    assert.ok(!logged('known', 'who wrote a form'));
    await changed('eve', 'PUT', `${forms}/renamed`, form('1'));
    assert.deepEqual(await involved(renamed), ['ann: author', 'bob: workflow', 'eve: form', 'otto: starter']);
  });
});
