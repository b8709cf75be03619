// suite: long, waiting

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { suiteOwner } from './support/owner.ts';
import {
  batchTask,
  type ItemRun,
  type ItemStage,
  itemPeople,
  itemStage,
  itemWorkflow,
  namedAction,
} from './support/runs/item-stage.ts';
import { usersOf } from './support/runs/run-people-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Limits of a batch, two batches of one run, and what an import, a repetition and a deletion do with batches.

const megabyte = 1_000_000;

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  before(async () => {
    stage = await itemStage(owner, store);
  });
  const begin = (items: readonly unknown[], rules: object = {}) => stage.start([batchTask('all', rules)], { items });
  const arrivals = (action: string) => stage.far.arrived.filter((one) => one === action).length;
  const outputOf = async (id: string) => {
    const { output, error } = await stage.reaches(id, 'completed', 'faulted');
    return output ?? assert.fail(JSON.stringify(error));
  };

  test('the list of an output has at most 4 MiB, and an entry without room says so', async () => {
    const { put, start, read } = stage;
    await put('size', [{ count: { set: { length: '${ $workflow.input.item | length }' } } }]);
    const workflow = { ...itemWorkflow, name: 'size' };
    const items = `\${ [range(6) | if . == 4 then "short" else "x" * ${megabyte} end] }`;
    const { id } = await start([batchTask('all', { workflow }, items)], {});
    const { list, completed } = await outputOf(id);
    assert.ok(Buffer.byteLength(JSON.stringify(list)) <= 4 * 1_024 * 1_024);
    assert.deepEqual(
      list.map(({ index, status, item, output, truncated }) => [
        index,
        status,
        typeof item === 'string' ? item.length : 0,
        output,
        truncated,
      ]),
      [
        ...[0, 1, 2, 3].map((index) => [index, 'completed', megabyte, { length: megabyte }, undefined]),
        [4, 'completed', 5, { length: 5 }, undefined],
        [5, 'completed', 0, undefined, true],
      ],
    );
    assert.deepEqual([completed, typeof list[5]?.run], [6, 'string']);
    assert.equal((await read(id)).items?.completed, 6);
  });

  test('a long error is cut to a string of 4 KiB, and an item may be a list of devices', async () => {
    const { put, start } = stage;
    const raise = { error: { type: 'https://example.net/long', status: 500, detail: '${ "é" * 4000 }' } };
    await put('devices', [
      { long: { if: '${ $workflow.input.index == 1 }', raise } },
      { count: { set: { devices: '${ $workflow.input.item | length }', index: '${ $workflow.input.index }' } } },
    ]);
    const lists = [['ce0', 'ce1', 'ce2'], ['ce3'], []];
    const workflow = { ...itemWorkflow, name: 'devices' };
    const { id } = await start([batchTask('all', { workflow, failures: 'count' })], { items: lists });
    const { list } = await outputOf(id);
    assert.deepEqual(
      list.map(({ item }) => item),
      lists,
    );
    assert.deepEqual(
      [list[0]?.output, list[2]?.output],
      [
        { devices: 3, index: 0 },
        { devices: 0, index: 2 },
      ],
    );
    const { error, truncated } = list[1] ?? {};
    assert.ok(typeof error === 'string' && Buffer.byteLength(error) <= 4_096, typeof error);
    assert.deepEqual([truncated, /^\{"type":"https:\/\/example\.net\/long".*é$/u.test(error)], [true, true]);
  });

  test('the places of a person limit parallel, and the run says how many items are under way at once', async () => {
    const { far, counts, reaches } = stage;
    const names = Array.from({ length: 10 }, (_, index) => `p-${index}`);
    for (const name of names) far.holding.add(name);
    const { id } = await begin(names, { parallel: 100 });
    await until('six actions are held', () => names.filter((name) => far.arrived.includes(name)).length === 6);
    const { items } = await counts(id, 'notStarted', 4);
    assert.deepEqual([items?.parallel, items?.total], [6, 10], 'of eight places a person has six');
    far.holding.clear();
    far.release();
    await until('the held actions are answered', async () => {
      far.release();
      return (await stage.read(id)).status === 'completed';
    });
    await reaches(id, 'completed');
  });

  test('an undecided item counts for stopAfter, and a decision that it is done begins no other one', async () => {
    const { far, counts, reaches, send } = stage;
    far.dropping.add('s-0');
    far.failing.add('s-1');
    const { id } = await begin(['s-0', 's-1', 's-2', 's-3'], { parallel: 1, stopAfter: 2, failures: 'count' });
    await counts(id, 'failed', 1);
    const { items } = await counts(id, 'unknown', 1);
    assert.equal(items?.notStarted, 2);
    const decided = await send('ann', 'POST', `/runs/${id}/decide`, { items: [0], as: 'done', reason: 'It is there.' });
    assert.equal(decided.status, 200, decided.text);
    const { output } = await reaches(id, 'completed');
    assert.deepEqual([output?.completed, output?.failed, output?.notStarted], [1, 1, 2]);
    assert.deepEqual(['s-2', 's-3'].map(arrivals), [0, 0]);
  });

  test('of two batches with undecided items a decision names one', async () => {
    const { far, reaches, send, start, asked } = stage;
    for (const name of ['t-a', 't-b']) far.dropping.add(name);
    const fork = { both: { fork: { branches: [batchTask('a', {}, '${ ["t-a"] }'), batchTask('b', {}, '${ ["t-b"] }')] } } };
    const { id } = await start([fork], {});
    await until('both are unknown', async () => (await stage.read(id)).items?.unknown === 2);
    const about = { items: 'unknown', expected: 1, as: 'done', reason: 'It is there.' };
    const decide = (more: object) => send('ann', 'POST', `/runs/${id}/decide`, { ...about, ...more });
    assert.match(assertProblem(await decide({}), 409, 'run-conflict').detail, /task/u);
    const { list } = await asked<{ readonly list: readonly { readonly id: string; readonly name: string }[] }>(
      send('ann', 'GET', `/runs/${id}/tasks`),
    );
    const first = await decide({ task: list.find(({ name }) => name === 'a')?.id });
    assert.equal(first.status, 200, first.text);
    assert.equal((first.json() as ItemRun).items?.unknown, 1);
    assert.equal((await decide({ task: '/do/0/both/fork/branches/1/b' })).status, 200);
    await reaches(id, 'completed');
  });

  test('an import with a batch inside of a batch gets 400 at its line, and stores nothing', async () => {
    const { send } = stage;
    const line = (name: string, tasks: readonly object[]): string => {
      const text = JSON.stringify({ document: { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' }, do: tasks });
      return JSON.stringify({ kind: 'workflow', id: `lab.${name}`, version: '1.0.0', mediaType: 'application/json', text });
    };
    const over = (name: string) => batchTask('all', { workflow: { ...itemWorkflow, name } }, '${ [] }');
    const around = { in: { run: { workflow: { ...itemWorkflow, name: 'imported-within' } } } };
    const lines = [
      line('imported-within', [batchTask('all', {}, '${ [] }')]),
      line('imported-between', [around]),
      line('imported-around', [over('imported-between')]),
    ];
    const { gateway } = stage;
    const given = async (...some: readonly string[]) =>
      await gateway().send({
        method: 'POST',
        target: '/automation_catalog/import',
        headers: { Authorization: gateway().basicFor('admin'), 'Content-Type': 'application/x-ndjson' },
        body: some.join('\n'),
      });
    const known = await given(lines[0] ?? '', lines[1] ?? '');
    assert.equal(known.status, 200, known.text);
    const innocent = line('imported-plain', [namedAction('act')]);
    const refused = await given(innocent, lines[2] ?? '');
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /reaches lab\.imported-within 1\.0\.0, which has a \\"call: batch\\" itself/u);
    assert.equal((await send('ann', 'GET', '/automation_catalog/workflows/lab.imported-plain')).status, 404);
    // The documents of one import name each other too.
    const together = lines.map((one) => one.replaceAll('imported-', 'jointly-'));
    const joint = await given(innocent, ...together);
    assert.equal(joint.status, 400, joint.text);
    assert.equal((await send('ann', 'GET', '/automation_catalog/workflows/lab.jointly-within')).status, 404);
  });

  test('the failed items run again with a mended version, for who may write the workflow alone', async () => {
    const { far, put, reaches, send, start, asked } = stage;
    far.failing.add('m-1');
    const { id } = await start([batchTask('all', { failures: 'count' })], { items: ['m-0', 'm-1'] });
    const ended = (await reaches(id, 'completed')) as ItemRun & { readonly workflow: string };
    const name = ended.workflow.slice('lab.'.length);
    await put('item', [namedAction('act', '$workflow.input.item + "-mended"')], '1.1.0');
    await put(name, [batchTask('all', { workflow: { ...itemWorkflow, version: '1.1.0' } })], '1.1.0');
    const rerun = (as: 'ann' | 'otto', body: object) => send(as, 'POST', `/runs/${id}/rerun`, { items: 'failed', ...body });
    assertProblem(await rerun('otto', { version: '1.1.0' }), 403, 'forbidden');
    assertProblem(await rerun('otto', {}), 409, 'version-superseded');
    const again = await asked<ItemRun & { readonly version: string }>(rerun('ann', { version: '1.1.0' }), 201);
    assert.equal(again.version, '1.1.0');
    await reaches(again.id, 'completed');
    assert.deepEqual(['m-0', 'm-1', 'm-0-mended', 'm-1-mended'].map(arrivals), [1, 1, 0, 1]);
    assert.deepEqual(
      (await stage.items(again.id)).list.map(({ index, item }) => [index, item]),
      [[1, 'm-1']],
    );
  });

  test('the run of an item has the people of the batch, and the workflow of a batch that runs cannot be deleted', async () => {
    const { far, items, reaches, send, asked } = stage;
    far.holding.add('i-0');
    const { id } = await begin(['i-0']);
    await until('the action is held', () => far.arrived.includes('i-0'));
    assertProblem(await send('ann', 'DELETE', '/automation_catalog/workflows/lab.item?version=1.0.0'), 409, 'workflow-in-use');
    const [item] = (await items(id)).list;
    const child = await asked<{
      readonly parent?: object;
      readonly involved: readonly { readonly principal: string; readonly as: readonly string[] }[];
    }>(send('ann', 'GET', `/runs/${item?.run}`));
    assert.deepEqual(child.parent, { run: id, task: '1' });
    assert.deepEqual(child.involved, [{ principal: 'ann', as: ['starter', 'author', 'workflow', 'parent'] }]);
    far.holding.clear();
    far.release();
    await reaches(id, 'completed');
  });

  test('a batch needs the right to make each call of its workflow, as a task that makes the call does', async () => {
    const { send } = stage;
    for (const [tasks, pointer] of [
      [[namedAction('act')], '/do/0/act'],
      [[batchTask('all')], '/do/0/all'],
    ] as const) {
      const document = { dsl: '1.0.3', namespace: 'lab', name: 'of-eve', version: '1.0.0' };
      const refused = await send('eve', 'POST', '/automation_catalog/workflows', { document, do: tasks });
      const { detail, errors } = assertProblem(refused, 403, 'forbidden');
      assert.match(errors?.[0]?.pointer ?? '', new RegExp(`^${pointer}`, 'u'));
      assert.match(detail, /^You may not write this workflow: .*[^.]\.$/u);
    }
  });

  test('who stored the workflow of an item lends its rights to each item, and losing them stops the items until a resumption', async () => {
    const { far, gateway, configured, send, asked, start, reaches, items } = stage;
    const document = { dsl: '1.0.3', namespace: 'lab', name: 'by-bob', version: '1.0.0' };
    await asked(send('bob', 'POST', '/automation_catalog/workflows', { document, do: [namedAction('act')] }), 201);
    far.holding.add('e-0');
    const workflow = { ...itemWorkflow, name: 'by-bob' };
    const { id } = await start([batchTask('all', { workflow, parallel: 1 })], { items: ['e-0', 'e-1'] });
    await until('the first action is held', () => far.arrived.includes('e-0'));
    const users = usersOf({ ...itemPeople, bob: { roles: [], groups: [] } });
    await reloadWith(gateway(), { ...configured({}), users });
    far.holding.clear();
    far.release();
    await until('the second item is suspended', async () => (await items(id, '?status=suspended')).list.length === 1);
    const [, second] = (await items(id)).list;
    const { suspendedBy } = await asked<{ readonly suspendedBy?: string }>(send('ann', 'GET', `/runs/${second?.run}`));
    assert.deepEqual([suspendedBy, arrivals('e-1')], ['delegation-lost', 0]);
    assert.equal((await stage.read(id)).status, 'waiting');
    await reloadWith(gateway(), configured({}));
    assert.equal((await send('ann', 'POST', `/runs/${second?.run}/resume`, {})).status, 200);
    await reaches(id, 'completed');
    assert.deepEqual(['e-0', 'e-1'].map(arrivals), [1, 1]);
  });
});
