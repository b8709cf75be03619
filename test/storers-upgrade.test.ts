import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { callersOf, involvedIn, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Rows of workflows that an earlier gateway wrote have the name of their storer alone.

eachStore((store) => {
  test('an upgrade takes who stored a workflow from the audit log, and nothing runs of one without such a record', async (t) => {
    const options = await store.empty(t);
    let gateway = await startGateway(t, { config: { store: { url: storeUrl(options) } }, users: usersOf(stagePeople) });
    const { store: put, send, automation, start, reaches } = callersOf(() => gateway);
    const nothing = [{ only: { set: { a: 1 } } }];
    for (const name of ['known', 'renamed', 'old']) await put('eve', name, '1.0.0', nothing);
    // The same bytes again get the same reply, and no other storer.
    assert.equal((await put('bob', 'renamed', '1.0.0', nothing)).status, 201);
    const ids = await Promise.all(['known', 'renamed', 'old'].map((name) => automation(name)));
    await until('all is on record', async () => {
      const audit = await send('ann', 'GET', '/audit?limit=1000');
      return [...audit.text.matchAll(/"workflow":\{"_id":"lab/gu)].length === 4;
    });
    await gateway.stop();
    const database = await store.open(t, options);
    const idOf = (name: string): Uint8Array => new TextEncoder().encode(`lab.${name}`);
    await database.query.updateTable('workflow').set({ storers: null }).execute();
    // A name in the row does not make its principal answer, and neither does a record of another time.
    await database.query.updateTable('workflow').set({ created_by: 'ann' }).where('id', '=', idOf('renamed')).execute();
    await database.query.updateTable('workflow').set({ created_at: 1 }).where('id', '=', idOf('old')).execute();
    gateway = await gateway.restart();
    const [known = '', ...unknown] = ids;
    const run = await reaches((await start('otto', known)).id, 'completed');
    assert.deepEqual(involvedIn(run), ['ann: author', 'eve: workflow', 'otto: starter']);
    for (const id of unknown) {
      assertProblem(await send('ann', 'POST', `/automation_catalog/automations/${id}/run`), 409, 'delegation-lost');
    }
    for (const name of ['renamed', 'old']) {
      assert.ok(
        gateway.stderr.some((line) => line.includes('nothing of it runs') && line.includes(`lab.${name} 1.0.0`)),
        name,
      );
      assert.equal((await send('ann', 'POST', `/automation_catalog/workflows/lab.${name}/take?version=1.0.0`)).status, 200);
    }
    for (const id of unknown) await reaches((await start('otto', id)).id, 'completed');
  });
});
