import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { callersOf, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// What a record of a change is about, and why a person decided so.

const secret = 'plum-tree-7';
const path = 'restconf/data/tailf-ncs:devices/device=ce0/config';

async function stage(t: TestContext, store: TestStore) {
  const far = await upstream(t, () => jsonReply('{}'));
  const gateway = await startGateway(t, {
    config: {
      store: { url: storeUrl(await store.empty(t)) },
      approvals: [{ name: 'changes', when: { routes: ['restAction'] }, approvers: { roles: ['admin'] } }],
      automations: {
        secrets: {
          token: { value: { env: 'WORKFLOW_TOKEN' }, workflows: ['lab.*'], writers: { roles: ['admin'] }, destinations: [] },
        },
      },
    },
    environment: { WORKFLOW_TOKEN: secret },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    users: usersOf(stagePeople),
  });
  const callers = callersOf(() => gateway);
  /** The records that the filter finds, the oldest first, once there are so many. */
  const found = async (filter: string, count: number): Promise<readonly AuditRecord[]> => {
    let records: readonly AuditRecord[] = [];
    await until(`${count} records of ${filter}`, async () => {
      const reply = await callers.send('ann', 'GET', `/audit?${filter}`);
      records = (reply.json() as { readonly list: readonly AuditRecord[] }).list.toReversed();
      return records.length >= count;
    });
    return records;
  };
  const ask = async (asked = path): Promise<string> => {
    const body = { params: { path: asked, accept: 'application/json' }, body: {} };
    const reply = await callers.send('ann', 'POST', '/orchestrator_manager/restAction/Far', body);
    return (reply.json() as { readonly approval: { readonly id: string } }).approval.id;
  };
  return { ...callers, gateway, far, found, ask };
}

eachStore((store) => {
  test('a decision has its reason on record, without secrets and cut, and the search for a device finds it', async (t) => {
    const { send, found, ask, gateway } = await stage(t, store);
    const id = await ask();
    const reason = `the change board knows ${secret} ${'x'.repeat(1_000)}`;
    assert.equal((await send('bob', 'POST', `/approvals/${id}/grant`, { reason })).status, 200);
    const other = await ask('device=pe7');
    assert.equal((await send('bob', 'POST', `/approvals/${other}/reject`, { reason: 'too late' })).status, 200);
    const records = await found('address=device%3Dce0', 3);
    const grant = records.find(({ route }) => route === 'POST /approvals/:id/grant');
    assert.deepEqual(grant?.approval, { _id: id, name: `POST ${path}` });
    const kept = `the change board knows *** ${'x'.repeat(1_000)}`.slice(0, 500);
    assert.equal(grant?.reason, kept);
    const refused = records.find(({ code }) => code === 'approval-required');
    assert.deepEqual(refused?.approval, { _id: id, name: `POST ${path}` });
    const rejections = (await found('address=device%3Dpe7', 3)).filter(({ route }) => route === 'POST /approvals/:id/reject');
    assert.deepEqual(
      rejections.map(({ reason: why }) => why),
      ['too late'],
    );
    assert.equal((await found('address=device%3Dce1', 0)).length, 0);
    const headers = { Authorization: basic('bob', testPassword) };
    assert.doesNotMatch((await gateway.send({ target: '/audit?limit=1000', headers })).text, new RegExp(secret, 'u'));
  });

  test('the record of a change names its object, and the search for the name finds it', async (t) => {
    const { send, found, store: put, automation, start, reaches } = await stage(t, store);
    await put('ann', 'one', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const form = { type: 'object', properties: { device: { type: 'string' } } };
    assert.equal((await send('ann', 'PUT', '/automation_catalog/forms/ports', form)).status, 201);
    const id = await automation('one');
    const run = await start('ann', id);
    await reaches(run.id, 'completed');
    assert.equal((await send('ann', 'POST', `/runs/${run.id}/decide`, { task: '1', as: 'done', reason: 'seen' })).status, 409);
    assert.equal((await send('ann', 'POST', `/runs/${run.id}/rerun`)).status, 201);
    const { name } = (await send('ann', 'GET', `/automation_catalog/automations/${id}`)).json() as { readonly name: string };
    const records = await found(`address=${encodeURIComponent(name)}`, 3);
    assert.deepEqual(
      records.map(({ route, automation: one, run: of }) => [route, one?.name, of?.name]),
      [
        ['POST /automation_catalog/automations', name, undefined],
        ['POST /automation_catalog/automations/:id/run', name, name],
        ['POST /runs/:id/rerun', name, name],
      ],
    );
    assert.equal(records[1]?.run?._id, run.id);
    const [stored] = await found('address=lab.one', 1);
    assert.deepEqual(stored?.workflow, { _id: 'lab.one', name: 'lab.one', version: '1.0.0' });
    const [formed] = await found('address=ports', 1);
    assert.deepEqual(formed?.form, { _id: 'ports', name: 'ports' });
    const decided = await found(`address=${run.id}`, 2);
    assert.ok(decided.some(({ route, reason }) => route === 'POST /runs/:id/decide' && reason === 'seen'));
  });

  test('a grant, a rejection and a decision about an unknown outcome name the run, and the search for its id finds them', async (t) => {
    const { send, found, far, store: put, automation, start, reaches } = await stage(t, store);
    const call = { call: 'orchestratorAction', with: { adapter: 'Far', params: { path, accept: 'application/json' }, body: {} } };
    await put('ann', 'acts', '1.0.0', [{ act: call }]);
    const id = await automation('acts');
    const { name } = (await send('ann', 'GET', `/automation_catalog/automations/${id}`)).json() as { readonly name: string };
    far.answer((_request, socket) => void socket.destroy());
    const decided = async (as: 'grant' | 'reject'): Promise<string> => {
      const { id: run } = await start('ann', id);
      let approval = '';
      await until('the run asks', async () => {
        const { list } = (await send('bob', 'GET', `/approvals?run=${run}`)).json() as {
          readonly list: [{ readonly id: string }?];
        };
        approval = list[0]?.id ?? '';
        return approval !== '';
      });
      assert.equal((await send('bob', 'POST', `/approvals/${approval}/${as}`, { reason: `to ${as}` })).status, 200);
      return run;
    };
    const granted = await decided('grant');
    await reaches(granted, 'suspended');
    assert.equal((await send('bob', 'POST', `/runs/${granted}/decide`, { task: '1', as: 'done', reason: 'seen' })).status, 200);
    const rejected = await decided('reject');
    await reaches(rejected, 'faulted');
    for (const [run, wanted] of [
      [granted, ['POST /approvals/:id/grant to grant', 'POST /runs/:id/decide seen']],
      [rejected, ['POST /approvals/:id/reject to reject']],
    ] as const) {
      const records = (await found(`address=${run}&principal=bob`, wanted.length)).filter(({ reason }) => reason !== undefined);
      assert.deepEqual(
        records.map(({ route, reason }) => `${route} ${reason}`),
        wanted,
      );
      for (const one of records)
        assert.deepEqual(
          [one.run, one.automation],
          [
            { _id: run, name },
            { _id: id, name },
          ],
        );
    }
  });
});
