// suite: long, waiting

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { SeenApproval } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { testPassword } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { batchTask, type ItemPerson, type ItemStage, itemStage, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Rules with `covers: batch`: people decide once about the calls of all items (docs/guides/approvals.md).

const approvers = { groups: ['noc-leads'] };
const approvals = [
  { name: 'changes', when: { adapters: ['Far'], paths: ['**/act'] }, approvers, covers: 'batch' },
  { name: 'single', when: { adapters: ['Far'], paths: ['**/single'] }, approvers },
  { name: 'both', when: { adapters: ['Far'], paths: ['**/both'] }, approvers },
  { name: 'both-once', when: { adapters: ['Far'], paths: ['**/both'] }, approvers, covers: 'batch' },
];

interface BatchApproval extends SeenApproval {
  readonly task?: string;
  readonly batch?: {
    readonly run?: string;
    readonly items: number;
    readonly list?: readonly { readonly index: number; readonly item: string }[];
  };
}

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  before(async () => {
    stage = await itemStage(owner, store, { approvals });
  });
  const begin = (items: readonly unknown[], rules: object = {}) => stage.start([batchTask('all', rules)], { items });
  const read = (id: string, as: ItemPerson = 'lea') => stage.asked<BatchApproval>(stage.send(as, 'GET', `/approvals/${id}`));
  const waiting = async (run: string): Promise<readonly BatchApproval[]> =>
    (
      await stage.asked<{ readonly list: readonly BatchApproval[] }>(
        stage.send('ann', 'GET', `/approvals?status=waiting&run=${run}`),
      )
    ).list;
  const asked = async (run: string): Promise<string> => await until('people are asked', async () => (await waiting(run))[0]?.id);
  const decide = (id: string, as: 'grant' | 'reject' = 'grant', by: ItemPerson = 'lea') =>
    stage.send(by, 'POST', `/approvals/${id}/${as}`, { reason: 'It is planned.' });
  const arrivals = (action: string) => stage.far.arrived.filter((one) => one === action).length;

  test('people are asked once, at the first call, with all items, and the grant lets the calls of all items leave', async () => {
    const { far, reaches, send, items } = stage;
    const { id } = await begin(['a-0', 'a-1', { device: 'a-2', n: 1.5 }, 'a-3'], { parallel: 3 });
    const approval = await asked(id);
    const shown = await read(approval);
    assert.deepEqual(shown.batch?.list, [
      { index: 0, item: '"a-0"' },
      { index: 1, item: '"a-1"' },
      { index: 2, item: '{"device":"a-2","n":1.5}' },
      { index: 3, item: '"a-3"' },
    ]);
    assert.deepEqual([shown.batch.items, shown.batch.run, shown.call?.body], [4, undefined, '{"action":"a-0"}']);
    assert.equal((await read(approval, 'ann')).batch?.run, id, 'who may open the run gets its id');
    assert.equal(
      (await items(id, '?status=notStarted')).list.length,
      3,
      'one item is under way, although the document has no canary',
    );
    assert.deepEqual(far.arrived, []);
    const typed = await runCommandLine(owner, ['approvals', 'show', approval], {
      env: { GATEWAY_URL: stage.gateway().url, GATEWAY_USER: 'lea', GATEWAY_PASSWORD: testPassword },
    });
    assert.match(typed.out, /one decision for the calls of 4 items, of which this is the first one/u, typed.err);
    assert.equal((await decide(approval)).status, 200);
    const ended = await reaches(id, 'completed', 'faulted');
    assert.equal(ended.status, 'completed', JSON.stringify(ended.error));
    assert.equal(far.arrived.length, 4);
    assert.equal((await waiting(id)).length, 0);
    for (const { run = '' } of (await items(id)).list) {
      const calls = await send('ann', 'GET', `/runs/${run}/calls`);
      assert.match(calls.text, new RegExp(`"approval":"${approval}"`, 'u'), 'each record names the approval');
    }
    await until('the approval has ended with its batch', async () => (await read(approval)).status === 'used');
    assertProblem(await decide(approval, 'reject'), 409, 'approval-used');
  });

  test('a rejection ends the batch, and nothing has left', async () => {
    const { far, reaches } = stage;
    const { id } = await begin(['r-0', 'r-1'], { failures: 'count' });
    const approval = await asked(id);
    assert.equal((await decide(approval, 'reject')).status, 200);
    const ended = await reaches(id, 'faulted');
    assert.match(ended.error?.detail ?? '', /notStarted: 1/u);
    assert.ok(!far.arrived.some((action) => action.startsWith('r-')));
    assert.equal((await read(approval)).status, 'rejected');
  });

  test('the wait lasts over a restart, and no involved person grants', async () => {
    const { reaches, restart } = stage;
    const { id } = await begin(['s-0', 's-1']);
    const approval = await asked(id);
    assertProblem(await decide(approval, 'grant', 'ann'), 403, 'forbidden');
    await restart();
    assert.equal((await decide(approval)).status, 200);
    await reaches(id, 'completed');
    assert.deepEqual(['s-0', 's-1'].map(arrivals), [1, 1]);
  });

  test('a call that is made again asks by itself, and no item uses the approval twice', async () => {
    const { far, reaches, counts, send, items } = stage;
    far.dropping.add('u-1');
    const { id } = await begin(['u-0', 'u-1', 'u-2']);
    const approval = await asked(id);
    await decide(approval);
    await counts(id, 'unknown', 1);
    far.dropping.clear();
    const reply = await send('ann', 'POST', `/runs/${id}/decide`, { items: [1], as: 'again', reason: 'It is not there.' });
    assert.equal(reply.status, 200, reply.text);
    const [, item] = (await items(id)).list;
    const single = await asked(item?.run ?? '');
    assert.notEqual(single, approval);
    const shown = await read(single);
    assert.deepEqual([shown.batch, shown.rules.map(({ name }) => name)], [undefined, ['changes']]);
    assert.equal(arrivals('u-1'), 1);
    await decide(single);
    await reaches(id, 'completed');
    assert.deepEqual(['u-0', 'u-1', 'u-2'].map(arrivals), [1, 2, 1]);
  });

  test('a task of another place asks for itself once, and so does a repetition', async () => {
    const { far, reaches, put, start, send, asked: answered } = stage;
    await put('two', [namedAction('one'), namedAction('two', '"second " + $workflow.input.item')]);
    const two = { namespace: 'lab', name: 'two', version: '1.0.0' };
    far.failing.add('second p-1');
    const { id } = await start([batchTask('all', { workflow: two, failures: 'count' })], { items: ['p-0', 'p-1'] });
    const first = await asked(id);
    await decide(first);
    const second = await until('the second task asks', async () => (await waiting(id)).find((one) => one.id !== first)?.id);
    assert.equal((await read(second)).call?.body, '{"action":"second p-0"}');
    await decide(second);
    await reaches(id, 'completed');
    far.failing.clear();
    const again = await answered<{ readonly id: string }>(send('ann', 'POST', `/runs/${id}/rerun`, { items: 'failed' }), 201);
    const third = await asked(again.id);
    assert.deepEqual((await read(third)).batch?.list, [{ index: 1, item: '"p-1"' }]);
    await decide(third);
    const fourth = await until('its second task asks', async () => (await waiting(again.id)).find((one) => one.id !== third)?.id);
    await decide(fourth);
    await reaches(again.id, 'completed');
  });

  test('another rule that matches asks for each call by itself, and outside of a batch each call is asked for', async () => {
    const { reaches, put, start, items } = stage;
    const params = { path: 'both', accept: 'application/json' };
    const body = { action: '${ $workflow.input.item }' };
    await put('both', [{ act: { call: 'orchestratorAction', with: { adapter: 'Far', params, body } } }]);
    const both = { namespace: 'lab', name: 'both', version: '1.0.0' };
    const { id } = await start([batchTask('all', { workflow: both, parallel: 1 })], { items: ['b-0', 'b-1'] });
    const once = await asked(id);
    assert.deepEqual(
      (await read(once)).rules.map(({ name }) => name),
      ['both-once'],
    );
    await decide(once);
    for (const index of [0, 1]) {
      const run = await until('the item has a run', async () => (await items(id)).list[index]?.run);
      const own = await asked(run);
      assert.deepEqual(
        (await read(own)).rules.map(({ name }) => name),
        ['both'],
      );
      assert.equal(arrivals(`b-${index}`), 0);
      await decide(own);
    }
    await reaches(id, 'completed');
    assert.deepEqual(['b-0', 'b-1'].map(arrivals), [1, 1]);
    const plain = await start([namedAction('act', '"b-plain"')], {});
    const own = await asked(plain.id);
    assert.equal((await read(own)).batch, undefined);
    await decide(own);
    await reaches(plain.id, 'completed');
  });

  test('the audit log is right after all this', async () => {
    const verified = await stage.asked<{ readonly problems: readonly object[] }>(stage.send('ann', 'POST', '/audit/verify', {}));
    assert.deepEqual(verified.problems, []);
  });
});
