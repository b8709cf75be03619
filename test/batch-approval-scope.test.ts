// suite: long, waiting

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { SeenApproval } from './support/approvals/approval-caller.ts';
import { lapse } from './support/lapse.ts';
import { suiteOwner } from './support/owner.ts';
import { batchTask, type ItemRun, type ItemStage, itemStage, itemWorkflow, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// Which calls of a batch one approval covers, and when they leave.

const approvers = { groups: ['noc-leads'] };
const approvals = [
  { name: 'changes', when: { adapters: ['Far'] }, approvers, covers: 'batch', expires: '2h' },
  { name: 'hooks', when: { routes: ['restCall'], paths: ['**/hook'] }, approvers, covers: 'batch' },
];

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  let hosts: readonly Upstream[];
  before(async () => {
    hosts = [await upstream(owner), await upstream(owner)];
    for (const host of hosts) host.answer(() => jsonReply('{}'));
    stage = await itemStage(owner, store, { approvals, outbound: { allow: hosts.map(({ authority }) => authority) } });
  });
  const waiting = async (run: string): Promise<readonly SeenApproval[]> =>
    (
      await stage.asked<{ readonly list: readonly SeenApproval[] }>(
        stage.send('ann', 'GET', `/approvals?status=waiting&run=${run}`),
      )
    ).list;
  const asked = async (run: string): Promise<SeenApproval> =>
    await until('people are asked', async () => (await waiting(run))[0]);
  const grant = async ({ id }: Pick<SeenApproval, 'id'>): Promise<void> => {
    const reply = await stage.send('lea', 'POST', `/approvals/${id}/grant`, { reason: 'It is planned.' });
    assert.equal(reply.status, 200, reply.text);
  };
  const arrivals = (prefix: string) => stage.far.arrived.filter((action) => action.startsWith(prefix));

  test('people decide in the afternoon about a batch that leaves at night', async () => {
    const { asked: answered, put, send, reaches, items } = stage;
    await put('night', [batchTask('all', { parallel: 3 })]);
    const data = { workflowId: 'lab.night' };
    const made = answered<{ readonly _id: string }>(
      send('ann', 'POST', '/automation_catalog/automations', { name: 'night', data }),
      201,
    );
    const notBefore = Date.now() + 4_000;
    const body = { input: { items: ['n-0', 'n-1', 'n-2', 'n-3'] }, notBefore: new Date(notBefore).toISOString() };
    const target = `/automation_catalog/automations/${(await made)._id}/run`;
    const { id } = await answered<ItemRun>(send('ann', 'POST', target, body), 201);
    const approval = await asked(id);
    assert.equal(Date.parse(approval.expires), notBefore + 7_200_000, 'the wait and the first use end after the night began');
    await grant(approval);
    await lapse(1_000, 'a granted batch must not begin before its time');
    assert.deepEqual(arrivals('n-'), []);
    assert.ok(Date.now() < notBefore, 'the machine is too slow for this test');
    assert.equal((await items(id, '?status=notStarted')).list.length, 3, 'the canary waits alone');
    await until('the first call left', () => arrivals('n-').length > 0);
    assert.ok(Date.now() >= notBefore);
    await reaches(id, 'completed');
    assert.deepEqual(arrivals('n-').toSorted(), ['n-0', 'n-1', 'n-2', 'n-3']);
    for (const { run = '' } of (await items(id)).list)
      assert.match((await send('ann', 'GET', `/runs/${run}/calls`)).text, new RegExp(`"approval":"${approval.id}"`, 'u'));
  });

  test('with a canary of two both of its calls wait for the one approval, and no third item begins', async () => {
    const { start, items, reaches } = stage;
    const { id } = await start([batchTask('all', { canary: 2, parallel: 5 })], { items: ['c-0', 'c-1', 'c-2', 'c-3'] });
    const approval = await asked(id);
    await until('both wait', async () => (await items(id, '?status=waiting')).list.length === 2);
    assert.equal((await waiting(id)).length, 1);
    assert.equal((await items(id, '?status=notStarted')).list.length, 2);
    await grant(approval);
    await reaches(id, 'completed');
    assert.equal(arrivals('c-').length, 4);
  });

  test('an approval covers the method that it shows, and calls with another one ask again', async () => {
    const { put, start, reaches } = stage;
    const params = { path: 'act', accept: 'application/json', method: '${ $workflow.input.item.method }' };
    const body = { action: '${ $workflow.input.item.name }' };
    await put('methods', [{ change: { call: 'orchestratorRequest', with: { adapter: 'Far', params, body } } }]);
    const workflow = { ...itemWorkflow, name: 'methods' };
    const items = ['PUT', 'PUT', 'PATCH', 'PUT', 'PATCH'].map((method, index) => ({ method, name: `m-${index}` }));
    const { id } = await start([batchTask('all', { workflow })], { items });
    const first = await asked(id);
    await grant(first);
    const second = await until('the other method asks', async () => (await waiting(id)).find((one) => one.id !== first.id));
    await until('what the first approval covers has left', () => arrivals('m-').length === 3);
    assert.deepEqual(arrivals('m-').toSorted(), ['m-0', 'm-1', 'm-3']);
    await grant(second);
    await reaches(id, 'completed');
    assert.equal(arrivals('m-').length, 5);
  });

  test('an approval of a call to a host covers calls to this host alone', async () => {
    const { put, start, reaches } = stage;
    const [one, other] = hosts;
    assert.ok(one && other);
    const endpoint = '${ $workflow.input.item + "/hook" }';
    await put('hooks', [{ tell: { call: 'http', with: { method: 'post', endpoint, body: { a: 1 } } } }]);
    const workflow = { ...itemWorkflow, name: 'hooks' };
    const { id } = await start([batchTask('all', { workflow })], { items: [one.url, one.url, other.url] });
    const first = await asked(id);
    await grant(first);
    const second = await until('the other host asks', async () => (await waiting(id)).find((each) => each.id !== first.id));
    await until('the calls to the first host left', () => one.requests.length === 2);
    assert.equal(other.requests.length, 0);
    await grant(second);
    await reaches(id, 'completed');
    assert.equal(other.requests.length, 1);
  });

  test('each batch of a run asks for itself', async () => {
    const { start, reaches } = stage;
    const tasks = [
      batchTask('first', {}, '${ ["e-0", "e-1"] }'),
      batchTask('second', {}, '${ ["e-2"] }'),
      namedAction('plain', '"e-3"'),
    ];
    const { id } = await start(tasks, {});
    const seen = new Set<string>();
    for (const expected of [2, 3, 4]) {
      const next = await until('people are asked', async () => (await waiting(id)).find((one) => !seen.has(one.id)));
      seen.add(next.id);
      await grant(next);
      await until(`${expected} calls left`, () => arrivals('e-').length === expected);
    }
    await reaches(id, 'completed');
    assert.deepEqual(arrivals('e-').toSorted(), ['e-0', 'e-1', 'e-2', 'e-3']);
  });
});
