// suite: long, waiting

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { testPassword } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { batchTask, type ItemStage, itemStage, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// What people see of the items of a batch, and what they decide about them (docs/guides/change-many-devices.md).

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  before(async () => {
    stage = await itemStage(owner, store);
  });
  const begin = (items: readonly unknown[], rules: object = {}) => stage.start([batchTask('all', rules)], { items });
  const typed = (argv: readonly string[]) => {
    const env = { GATEWAY_URL: stage.gateway().url, GATEWAY_USER: 'ann', GATEWAY_PASSWORD: testPassword };
    return runCommandLine(owner, argv, { env });
  };

  test('a run has the counts of its items, lists leave the runs of a batch out, and statistics too', async () => {
    const { far, send, asked, reaches } = stage;
    for (const action of ['b', 'd']) far.failing.add(`l-${action}`);
    const { id } = await begin(['l-a', 'l-b', 'l-c', 'l-d', 'l-e'], { failures: 'count', parallel: 3, stopAfter: 2 });
    const ended = await reaches(id, 'completed');
    const items = ended.items ?? assert.fail('no items');
    assert.deepEqual(
      { ...items, completed: 0, notStarted: 0 },
      { parallel: 3, total: 5, completed: 0, failed: 2, unknown: 0, cancelled: 0, notStarted: 0 },
    );
    assert.equal(items.completed + items.notStarted, 3);
    const listed = async (
      query: string,
    ): Promise<readonly { readonly id: string; readonly items?: object; readonly parent?: object }[]> =>
      (await asked<{ readonly list: readonly { readonly id: string }[] }>(send('ann', 'GET', `/runs?limit=1000${query}`))).list;
    const all = await listed('');
    assert.deepEqual(all.find((run) => run.id === id)?.items, items);
    assert.ok(!all.some(({ parent }) => parent !== undefined), 'no run of an item');
    const began = 5 - items.notStarted;
    assert.equal((await listed('&children=true')).filter((run) => run.id.startsWith(`${id}.`)).length, began);
    assert.equal((await listed(`&parent=${id}`)).length, began);
    assert.equal((await listed(`&parent=${id}&status=faulted`)).length, 2);
    assert.deepEqual(await listed('&parent=none'), []);
    assertProblem(await send('ann', 'GET', '/runs?children=no'), 400, 'invalid-request');
    const { list } = await asked<{ readonly list: readonly { readonly counts: Readonly<Record<string, number>> }[] }>(
      send('ann', 'GET', '/statistics/runs'),
    );
    const faulted = list.reduce((sum, { counts }) => sum + (counts['faulted'] ?? 0), 0);
    assert.equal(faulted, 0, 'the two failed items are no runs of the statistics');
    const [task] = (
      await asked<{ readonly list: readonly { readonly items?: object }[] }>(send('ann', 'GET', `/runs/${id}/tasks`))
    ).list;
    assert.deepEqual(task?.items, items);
  });

  test('the items of a batch are listed by state and text, page after page, for those who see the timeline', async () => {
    const { far, send, items, reaches } = stage;
    far.failing.add('i-2');
    const { id } = await begin(['i-0', 'i-1', 'i-2', 'i-3', { device: 'ce9', n: 1.5 }], { failures: 'count', parallel: 2 });
    await reaches(id, 'completed');
    const { list } = await items(id);
    assert.deepEqual(
      list.map(({ index, status, item }) => [index, status, item]),
      [
        [0, 'completed', 'i-0'],
        [1, 'completed', 'i-1'],
        [2, 'faulted', 'i-2'],
        [3, 'completed', 'i-3'],
        [4, 'completed', { device: 'ce9', n: 1.5 }],
      ],
    );
    assert.deepEqual(list[0]?.output, { action: 'i-0' });
    assert.deepEqual([list[2]?.error?.status, list[2]?.output, list[2]?.run?.startsWith(`${id}.1.1-`)], [500, undefined, true]);
    const indices = async (query: string) => (await items(id, query)).list.map(({ index }) => index);
    assert.deepEqual(await indices('?status=faulted'), [2]);
    assert.deepEqual(await indices('?search=CE9'), [4]);
    assert.deepEqual(await indices('?search=errors%2Fcommunication'), [2], 'a text of the error');
    const first = await items(id, '?limit=2');
    assert.deepEqual(
      first.list.map(({ index }) => index),
      [0, 1],
    );
    assert.deepEqual(await indices(`?limit=2&cursor=${first.cursor}`), [2, 3]);
    assertProblem(await send('ann', 'GET', `/runs/${id}/tasks/1/items?status=failed`), 400, 'invalid-request');
    assertProblem(await send('ann', 'GET', `/runs/${id}/tasks/9/items`), 404, 'task-not-found');
    const { id: plain } = await stage.start([namedAction('act', '"plain"')], {});
    await reaches(plain, 'completed');
    assert.deepEqual(await items(plain), { list: [] }, 'a task without a batch has no items');
    assert.equal((await send('otto', 'GET', `/runs/${id}/tasks/1/items`)).status, 200, 'a member of the group that may run it');
    assertProblem(await send('eve', 'GET', `/runs/${id}/tasks/1/items`), 404, 'run-not-found');
    const shown = await typed(['runs', 'show', id]);
    assert.match(shown.out, /^items {7}4 of 5 completed, 1 failed$/mu, shown.err);
    const rows = await typed(['runs', 'items', id, '--status', 'failed']);
    assert.equal(rows.code, 0, rows.err);
    assert.deepEqual(
      rows.out
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { readonly index: number }).index),
      [2],
    );
  });

  test('a long output of an item is masked before it is cut, so that its readers see no part of a password', async () => {
    const { items, put, reaches, send } = stage;
    const workflow = { namespace: 'lab', name: 'echo', version: '1.0.0' };
    await put('echo', [{ echo: { set: '${ $workflow.input.item }' } }]);
    const long = { filler: 'x'.repeat(3_900), password: 'hunter2-'.repeat(40), rest: 'y'.repeat(200) };
    const { id } = await stage.start([{ all: { call: 'batch', with: { items: '${ $workflow.input.items }', workflow } } }], {
      items: [long],
    });
    await reaches(id, 'completed');
    const [item] = (await items(id)).list;
    assert.match(String(item?.output), /"password":"\*\*\*"/u);
    assert.doesNotMatch((await send('ann', 'GET', `/runs/${id}/tasks/1/items`)).text, /hunter2/u);
  });

  test('the data of a batch has its evaluated arguments with each item, cut as those of any task', async () => {
    const { asked, reaches, send } = stage;
    const data = async (id: string) =>
      await asked<{ readonly arguments?: string; readonly truncated?: readonly string[] }>(
        send('ann', 'GET', `/runs/${id}/tasks/1/data`),
      );
    const list = ['t-0', { device: 'ce1', n: 1.5 }, null];
    const { id } = await begin(list, { parallel: 100, stopAfter: 3, failures: 'count' });
    await reaches(id, 'completed');
    const rules = { parallel: 100, canary: 0, stopAfter: 3, failures: 'count' };
    const workflow = { namespace: 'lab', name: 'item', version: '1.0.0' };
    assert.deepEqual(JSON.parse((await data(id)).arguments ?? ''), { items: list, workflow, ...rules });
    const { id: long } = await begin(['x'.repeat(40_000), 'y'.repeat(40_000)]);
    await reaches(long, 'completed');
    const cut = await data(long);
    assert.deepEqual(cut.truncated?.toSorted(), ['arguments', 'input', 'output']);
    assert.ok(cut.arguments?.startsWith('{"items":["xxx') && cut.arguments.length === 65_536, String(cut.arguments?.length));
  });

  test('one decision is for several undecided items, on record for each, and of two people at once one decides', async () => {
    const { far, send, asked, counts, reaches, items } = stage;
    for (const action of ['d-0', 'd-2', 'd-3']) far.dropping.add(action);
    const { id } = await begin(['d-0', 'd-1', 'd-2', 'd-3'], { failures: 'count' });
    await counts(id, 'unknown', 3);
    const decide = (as: 'ann' | 'bob' | 'eve' | 'dan' | 'dot', about: object, reason = 'seen at the devices') =>
      send(as, 'POST', `/runs/${id}/decide`, { as: 'done', reason, ...about });
    assertProblem(await decide('eve', { items: [0] }), 403, 'forbidden');
    assertProblem(await decide('dot', { items: [0] }), 403, 'forbidden');
    assert.match(assertProblem(await decide('ann', { items: 'unknown' }), 409, 'run-conflict').detail, /3 items.*expected/u);
    assertProblem(await decide('ann', { items: 'unknown', expected: 2 }), 409, 'run-conflict');
    assert.match(assertProblem(await decide('ann', { items: [0, 1] }), 409, 'run-conflict').detail, /items 1 are not undecided/u);
    assertProblem(await decide('ann', { items: [0], task: '7' }), 409, 'run-conflict');
    assertProblem(await decide('ann', { items: [] }), 400, 'invalid-request');
    assertProblem(await decide('ann', { items: [0], expected: 1 }), 400, 'invalid-request');
    assertProblem(await decide('ann', {}), 400, 'invalid-request');
    assert.equal((await stage.read(id)).items?.unknown, 3, 'nothing was decided');
    const first = await decide('dan', { items: [2], as: 'failed' });
    assert.equal(first.status, 200, first.text);
    assert.equal((first.json() as { readonly items: { readonly unknown: number } }).items.unknown, 2);
    const both = await Promise.all((['ann', 'bob'] as const).map((as) => decide(as, { items: 'unknown', expected: 2 })));
    assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([200, 409]), both.map(({ text }) => text).join('\n'));
    const ended = await reaches(id, 'completed');
    assert.deepEqual([ended.output?.completed, ended.output?.failed, ended.output?.unknown], [3, 1, 0]);
    const { list } = await items(id);
    for (const index of [0, 3]) {
      const run = list[index]?.run ?? '';
      const tasks = await asked<{ readonly list: readonly { readonly decisions?: readonly { readonly reason: string }[] }[] }>(
        send('ann', 'GET', `/runs/${run}/tasks`),
      );
      assert.equal(tasks.list[0]?.decisions?.[0]?.reason, 'seen at the devices');
      await until('the decision is on record', async () => {
        const { text } = await send('ann', 'GET', `/audit?object=${run}&limit=100`);
        return text.includes('"event":"decided"') && text.includes(`The item ${index} of the batch /do/0/all`);
      });
    }
    assertProblem(await decide('ann', { items: 'unknown', expected: 1 }), 409, 'run-conflict');
    assert.equal(far.arrived.filter((action) => action.startsWith('d-')).length, 4, 'no call was made again');
  });

  test('the command line decides about items, and says which command does', async () => {
    const { far, counts, reaches } = stage;
    for (const action of ['c-0', 'c-1']) far.dropping.add(action);
    const { id } = await begin(['c-0', 'c-1'], {});
    await counts(id, 'unknown', 2);
    const { out } = await typed(['runs', 'show', id]);
    const [, advised = ''] =
      /^ {2}.* (runs decide \S+ --task 1 --items unknown --expected 2 --as done) --reason '…'$/mu.exec(out) ?? [];
    assert.notEqual(advised, '', out);
    const wrong = await typed(['runs', 'decide', id, '--items', '0;1', '--as', 'done', '--reason', 'x']);
    assert.deepEqual([wrong.code, /--items is neither/u.test(wrong.err)], [2, true], wrong.err);
    const one = await typed(['runs', 'decide', id, '--items', '1', '--as', 'done', '--reason', 'It is there.']);
    assert.equal(one.code, 0, one.err);
    const stale = await typed([...advised.split(' '), '--reason', 'It is there.']);
    assert.equal(stale.code, 1, 'one is left');
    const rest = await typed([...advised.replace('--expected 2', '--expected 1').split(' '), '--reason', 'It is there.']);
    assert.equal(rest.code, 0, rest.err);
    await reaches(id, 'completed');
  });

  test('an item whose inner run has the undecided call is decided by the batch as well', async () => {
    const { far, counts, reaches, send, put, start } = stage;
    await put('outer', [
      {
        inside: {
          run: { workflow: { namespace: 'lab', name: 'item', version: '1.0.0', input: { item: '${ $workflow.input.item }' } } },
        },
      },
    ]);
    far.dropping.add('n-0');
    const outer = { namespace: 'lab', name: 'outer', version: '1.0.0' };
    const { id } = await start([batchTask('all', { workflow: outer })], { items: ['n-0', 'n-1'] });
    await counts(id, 'unknown', 1);
    const reply = await send('ann', 'POST', `/runs/${id}/decide`, { items: [0], as: 'done', reason: 'seen' });
    assert.equal(reply.status, 200, reply.text);
    await reaches(id, 'completed');
  });
});
