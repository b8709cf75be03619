// suite: long, waiting

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { testPassword } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { batchTask, type ItemRun, type ItemStage, itemStage, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// `POST /runs/:id/rerun` with `items`: what is left of batches, and nothing else of them, is run again.

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  before(async () => {
    stage = await itemStage(owner, store);
  });
  const rerun = (id: string, body: object = { items: 'failed' }, as: 'ann' | 'bob' = 'ann', key?: string) =>
    stage.send(as, 'POST', `/runs/${id}/rerun`, body, key);
  const again = async (id: string, body?: object): Promise<ItemRun> => await stage.asked(rerun(id, body), 201);
  const arrivals = (action: string) => stage.far.arrived.filter((one) => one === action).length;
  const indices = ({ output }: ItemRun) => output?.list.map(({ index, item }) => [index, item]);

  test('a repetition takes the items that failed, with their indices, and the items that are left of it are repeated after it', async () => {
    const { far, reaches, start } = stage;
    for (const action of ['a-1', 'a-3']) far.failing.add(action);
    const tasks = [
      namedAction('before', '"a-before"'),
      batchTask('all', { failures: 'count' }),
      namedAction('after', '"a-after"'),
    ];
    const { id } = await start(tasks, { items: ['a-0', 'a-1', 'a-2', 'a-3'] });
    await reaches(id, 'completed');
    far.failing.delete('a-1');
    const second = await again(id);
    assert.match(second.warnings?.join(' ') ?? '', /outside of batches, and run again: (before, after|after, before)\./u);
    const ended = await reaches(second.id, 'completed');
    assert.deepEqual(ended.input, { items: ['a-0', 'a-1', 'a-2', 'a-3'] });
    const repeated = await stage.items(second.id, '', '2');
    assert.deepEqual(
      repeated.list.map(({ index, item, status }) => [index, item, status]),
      [
        [1, 'a-1', 'completed'],
        [3, 'a-3', 'faulted'],
      ],
    );
    assert.equal(ended.items?.total, 2);
    far.failing.delete('a-3');
    const third = await again(second.id);
    await reaches(third.id, 'completed');
    assert.deepEqual(['a-0', 'a-1', 'a-2', 'a-3'].map(arrivals), [1, 2, 1, 3]);
    assert.deepEqual([arrivals('a-before'), arrivals('a-after')], [3, 3]);
    for (const run of [id, second.id, third.id]) assertProblem(await rerun(run), 409, 'run-conflict');
  });

  test('an item is repeated by one run alone, although two people ask at the same time, and a key gets the same run', async () => {
    const { far, reaches, start } = stage;
    for (const action of ['t-0', 't-1', 't-2']) far.failing.add(action);
    const { id } = await start([batchTask('all')], { items: ['t-0', 't-1', 't-2', 't-3'] });
    await reaches(id, 'faulted');
    far.failing.clear();
    const replies = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8].map((turn) => rerun(id, { items: 'failed' }, turn % 2 === 0 ? 'ann' : 'bob')),
    );
    const made = replies.filter(({ status }) => status === 201);
    assert.equal(made.length, 1, replies.map(({ status, text }) => `${status} ${text}`).join('\n'));
    const { id: run } = (made[0] ?? assert.fail('none was made')).json() as ItemRun;
    const refused = replies.find(({ status }) => status === 409) ?? assert.fail('nothing was refused');
    assert.match(assertProblem(refused, 409, 'run-conflict').detail, new RegExp(`repeated already, by: ${run}`, 'u'));
    const ended = await reaches(run, 'completed');
    assert.deepEqual(indices(ended), [
      [0, 't-0'],
      [1, 't-1'],
      [2, 't-2'],
    ]);
    assert.equal(far.arrived.filter((action) => action.startsWith('t-')).length, 7);

    far.failing.add('k-0');
    const other = await start([batchTask('all')], { items: ['k-0'] });
    await reaches(other.id, 'faulted');
    far.failing.clear();
    const keyed = await Promise.all([1, 2, 3].map(() => rerun(other.id, { items: 'failed' }, 'ann', 'one-key')));
    assert.deepEqual(
      keyed.map(({ status }) => status),
      [201, 201, 201],
      keyed.map(({ text }) => text).join('\n'),
    );
    assert.equal(new Set(keyed.map((reply) => (reply.json() as ItemRun).id)).size, 1);
    assertProblem(await rerun(other.id, {}, 'ann', 'one-key'), 422, 'idempotency-key-reused');
  });

  test('what was cancelled or did not start is repeated, what is undecided is not, and a batch that had not begun runs whole', async () => {
    const { far, reaches, counts, start, send } = stage;
    far.dropping.add('w-1');
    for (const action of ['w-2', 'w-3']) far.holding.add(action);
    const tasks = [
      batchTask('first', { parallel: 2, failures: 'count' }, '${ $workflow.input.items }'),
      batchTask('second', {}, '${ $workflow.input.others }'),
    ];
    const { id } = await start(tasks, { items: ['w-0', 'w-1', 'w-2', 'w-3', 'w-4', 'w-5'], others: ['x-0', 'x-1'] });
    await until('two calls are in flight', () => arrivals('w-2') + arrivals('w-3') === 2);
    assert.equal((await send('ann', 'POST', `/runs/${id}/cancel`)).status, 200);
    await reaches(id, 'cancelled');
    const { items } = await counts(id, 'unknown', 3);
    assert.deepEqual([items?.completed, items?.notStarted], [1, 2]);
    far.release();
    far.holding.clear();
    far.dropping.clear();
    const unknown = [1, 2, 3];
    const repeated = await again(id);
    assert.match(repeated.warnings?.join(' ') ?? '', /People have not decided about 3 of the items/u);
    const ended = await reaches(repeated.id, 'completed', 'faulted');
    assert.equal(ended.status, 'completed', JSON.stringify(ended.error));
    assert.deepEqual(
      (await stage.items(repeated.id)).list.map(({ index }) => index),
      [4, 5],
    );
    assert.deepEqual(
      (await stage.items(repeated.id, '', '2')).list.map(({ item }) => item),
      ['x-0', 'x-1'],
    );
    // Once it is decided, that item alone is left.
    const decided = await send('ann', 'POST', `/runs/${id}/decide`, {
      items: 'unknown',
      expected: unknown.length,
      as: 'failed',
      reason: 'It is not there.',
    });
    assert.equal(decided.status, 200, decided.text);
    await counts(id, 'unknown', 0);
    const last = await again(id);
    await reaches(last.id, 'completed');
    assert.deepEqual(
      (await stage.items(last.id)).list.map(({ index }) => index),
      unknown,
    );
    assert.deepEqual((await stage.items(last.id, '', '2')).list, [], 'the second batch is the repetition before');
    assert.equal(arrivals('x-0'), 1);
  });

  test('each batch of a loop and of an inner run has its own items again, by its task and turn', async () => {
    const { far, reaches, start, put } = stage;
    await put('inner', [batchTask('deep', {}, '${ $workflow.input.list }')]);
    for (const action of ['g-1', 'h-0', 'm-1']) far.failing.add(action);
    const inner = { namespace: 'lab', name: 'inner', version: '1.0.0', input: { list: ['m-0', 'm-1'] } };
    const tasks = [
      {
        loop: {
          for: { each: 'group', in: '${ $workflow.input.groups }' },
          do: [batchTask('turn', { failures: 'count' }, '${ $group }')],
        },
      },
      { inside: { run: { workflow: inner } } },
    ];
    const { id } = await start(tasks, {
      groups: [
        ['g-0', 'g-1'],
        ['h-0', 'h-1'],
      ],
    });
    await reaches(id, 'faulted');
    far.failing.clear();
    const { id: second } = await again(id);
    await reaches(second, 'completed');
    assert.deepEqual(['g-0', 'g-1', 'h-0', 'h-1', 'm-0', 'm-1'].map(arrivals), [1, 2, 2, 1, 1, 2]);
  });

  test('a repetition that was cancelled before its batch leaves the items to the next one, and no other item runs twice', async () => {
    const { far, reaches, start, send } = stage;
    far.failing.add('q-1');
    const { id } = await start([namedAction('gate', '"q-gate"'), batchTask('all')], { items: ['q-0', 'q-1'] });
    await reaches(id, 'faulted');
    far.failing.clear();
    far.holding.add('q-gate');
    const second = await again(id);
    await until('the second run is at its gate', () => arrivals('q-gate') === 2);
    assertProblem(await rerun(id), 409, 'run-conflict');
    assert.equal((await send('ann', 'POST', `/runs/${second.id}/cancel`)).status, 200);
    await reaches(second.id, 'cancelled');
    far.holding.clear();
    far.release();
    const third = await again(second.id);
    await reaches(third.id, 'completed');
    assert.deepEqual(['q-0', 'q-1'].map(arrivals), [1, 2]);
    assertProblem(await rerun(second.id), 409, 'run-conflict');
  });

  test('a repetition of items needs a run that has ended and has batches, and takes no input', async () => {
    const { far, reaches, start, put } = stage;
    far.holding.add('e-0');
    const { id } = await start([batchTask('all')], { items: ['e-0'] });
    assert.match(assertProblem(await rerun(id), 409, 'run-conflict').detail, /has not ended/u);
    far.release();
    await reaches(id, 'completed');
    far.holding.clear();
    assert.equal(
      assertProblem(await rerun(id, { items: 'failed', input: {} }), 400, 'invalid-request').errors?.[0]?.pointer,
      '/items',
    );
    assertProblem(await rerun(id, { items: 'all' }), 400, 'invalid-request');
    assert.match(assertProblem(await rerun(id), 409, 'run-conflict').detail, /No item of the run is left/u);
    const plain = await start([namedAction('act', '"plain"')], {});
    await reaches(plain.id, 'completed');
    assert.match(assertProblem(await rerun(plain.id), 409, 'run-conflict').detail, /has no batch/u);
    // Another version takes the items where it has the batch in the same place, and only there.
    far.failing.add('v-0');
    const versioned = await start([batchTask('all')], { items: ['v-0', 'v-1'] });
    const faulted = await reaches(versioned.id, 'faulted');
    const name = (faulted as unknown as { readonly workflow: string }).workflow.slice('lab.'.length);
    await put(name, [namedAction('first', '"v-first"'), batchTask('all')], '2.0.0');
    await put(name, [batchTask('all'), namedAction('last', '"v-last"')], '3.0.0');
    const moved = assertProblem(await rerun(versioned.id, { items: 'failed', version: '2.0.0' }), 409, 'run-conflict');
    assert.match(moved.detail, /has no batch at \/do\/0\/all/u);
    far.failing.clear();
    const { id: repaired } = await again(versioned.id, { items: 'failed', version: '3.0.0' });
    await reaches(repaired, 'completed');
    assert.deepEqual(['v-0', 'v-1', 'v-last'].map(arrivals), [2, 1, 1]);
  });

  test('the command line repeats the failed items, and prints the warnings', async () => {
    const { far, reaches, start } = stage;
    far.failing.add('z-0');
    const { id } = await start([namedAction('head', '"z-head"'), batchTask('all')], { items: ['z-0', 'z-1'] });
    await reaches(id, 'faulted');
    far.failing.clear();
    const env = { GATEWAY_URL: stage.gateway().url, GATEWAY_USER: 'ann', GATEWAY_PASSWORD: testPassword };
    const { code, out, err } = await runCommandLine(owner, ['runs', 'rerun', id, '--items', 'failed'], { env });
    assert.equal(code, 0, err);
    assert.match(err, /outside of batches, and run again: head\./u);
    await reaches(out.trim(), 'completed');
  });
});
