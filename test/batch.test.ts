import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { suiteOwner } from './support/owner.ts';
import { type BatchOutput, type BatchStage, batchOf, batchStage, one } from './support/runs/batch-stage.ts';
import { actionTask, type SeenRun } from './support/runs/run-caller.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// `call: batch`: a run of a workflow for each item, side by side (docs/decisions/0050-batches.md).

const undecided = 'orchestration-gateway.batch.undecided.v1';
const ended = 'orchestration-gateway.batch.ended.v1';

function outputOf({ output, status, error }: SeenRun): BatchOutput {
  assert.equal(status, 'completed', JSON.stringify(error));
  return output as BatchOutput;
}

function countsOf({ completed, failed, unknown, cancelled, notStarted }: BatchOutput) {
  return { completed, failed, unknown, cancelled, notStarted };
}

const nothing = { completed: 0, failed: 0, unknown: 0, cancelled: 0, notStarted: 0 };

eachStore((store) => {
  const owner = suiteOwner();
  let stage: BatchStage;
  before(async () => {
    stage = await batchStage(owner, store);
  });

  test('each item has a run, at most so many at once, and the output lists them in their order', async () => {
    const { far, caller } = stage;
    const { id } = await stage.begin(['hold-p1', 'hold-p2', 'p3', { deep: 1.5 }], { parallel: 2, failures: 'count' });
    await until('two actions are held', () => far.held.length === 2);
    assert.equal((await stage.children(id)).length, 2, 'the third waits');
    assert.equal((await caller.read(id)).status, 'waiting');
    far.release('hold-p1');
    await until('the third has arrived', () => far.arrived.includes('p3'));
    far.release();
    const output = outputOf(await caller.reaches(id, 'completed', 'faulted'));
    assert.deepEqual(
      output.list.map(({ index, status, item }) => [index, status, item]),
      [
        [0, 'completed', 'hold-p1'],
        [1, 'completed', 'hold-p2'],
        [2, 'completed', 'p3'],
        [3, 'completed', { deep: 1.5 }],
      ],
    );
    assert.deepEqual(output.list[2]?.output, { action: 'p3', filler: '' });
    assert.equal(output.list[2]?.run, (await stage.children(id))[2]?.id);
    assert.deepEqual(countsOf(output), { ...nothing, completed: 4 });
    await until('an event tells of its end', () => stage.told(id).length === 1);
    const [event] = stage.receiver.attempts.filter(({ type, source }) => type === ended && source === `/runs/${id}`);
    assert.deepEqual(event?.data['status'], 'completed');
    assert.deepEqual([event?.data['total'], event?.data['completed'], event?.data['task']], [4, 4, '/do/0/all']);
    const ofChildren = stage.receiver.attempts.filter(({ source }) => source.startsWith(`/runs/${id}.`));
    assert.deepEqual(ofChildren, [], 'runs of a batch send nothing of their own');
    const list = await stage.gateway.send({ target: '/runs?limit=1000', role: 'admin' });
    const listed = (list.json() as { readonly list: readonly SeenRun[] }).list.map((run) => run.id);
    assert.ok(listed.includes(id));
  });

  test('an empty list gives an empty output, and what is no list or has 20,001 items is an error', async () => {
    const { caller } = stage;
    const empty = await stage.begin([]);
    assert.deepEqual(outputOf(await caller.reaches(empty.id, 'completed', 'faulted')), { list: [], ...nothing });
    const faultOf = async (name: string, items: string): Promise<SeenRun> => {
      const automation = await caller.automation(name, [{ all: batchOf(items) }]);
      return await caller.reaches((await caller.start(automation)).id, 'completed', 'faulted');
    };
    const wrong = await faultOf('nolist', '${ {} }');
    assert.match(`${wrong.error?.type} ${wrong.error?.detail}`, /errors\/expression with\.items: gives \{\}, which is no array/u);
    const many = await faultOf('many', '${ [range(20001)] }');
    assert.match(
      `${many.error?.type} ${many.error?.detail}`,
      /errors\/runtime The list has 20,001 items; a batch has at most 20,000/u,
    );
  });

  test('a batch with failed items faults with its counts, or completes where the document counts them', async () => {
    const { caller } = stage;
    const faulty = await stage.begin(['f1', 'fail-f2', 'f3']);
    const { status, error } = await caller.reaches(faulty.id, 'completed', 'faulted');
    assert.equal(status, 'faulted');
    assert.deepEqual([error?.type, error?.status], ['https://serverlessworkflow.io/spec/1.0.0/errors/runtime', 500]);
    assert.match(error?.detail ?? '', /completed: 2, failed: 1, unknown: 0, cancelled: 0, notStarted: 0/u);
    const counted = await stage.begin(['f4', 'fail-f5', 'f6'], { failures: 'count' });
    const output = outputOf(await caller.reaches(counted.id, 'completed', 'faulted'));
    assert.deepEqual(countsOf(output), { ...nothing, completed: 2, failed: 1 });
    assert.equal(output.list[1]?.status, 'faulted');
    assert.match(JSON.stringify(output.list[1]?.error), /"status":500/u);
    assert.equal(output.list[1]?.output, undefined);
  });

  test('the canary runs first and alone, and where it does not complete the batch faults, and no other item begins', async () => {
    const { far, caller } = stage;
    const good = await stage.begin(['hold-c1', 'hold-c2', 'c3'], { canary: 2, parallel: 5 });
    await until('the canary is held', () => far.held.length === 2);
    far.release('hold-c1');
    await stage.child(good.id, 0, 'completed');
    assert.equal((await stage.children(good.id)).length, 2, 'one of the canary is under way');
    far.release();
    assert.deepEqual(countsOf(outputOf(await caller.reaches(good.id, 'completed', 'faulted'))), { ...nothing, completed: 3 });
    const bad = await stage.begin(['fail-c4', 'c5', 'c6'], { canary: 1, failures: 'count' });
    const { status, error } = await caller.reaches(bad.id, 'completed', 'faulted');
    assert.equal(status, 'faulted');
    assert.match(error?.detail ?? '', /canary.*completed: 0, failed: 1, unknown: 0, cancelled: 0, notStarted: 2/u);
    assert.ok(!far.arrived.includes('c5'));
  });

  test('after so many failed items no new one begins', async () => {
    const items = ['fail-s1', 's2', 'fail-s3', 's4', 's5'];
    const { id } = await stage.begin(items, { parallel: 1, stopAfter: 2, failures: 'count' });
    const output = outputOf(await stage.caller.reaches(id, 'completed', 'faulted'));
    assert.deepEqual(countsOf(output), { ...nothing, completed: 1, failed: 2, notStarted: 2 });
    assert.deepEqual(
      output.list.map(({ index, status, run }) => [index, status, run === undefined]),
      [
        [0, 'faulted', false],
        [1, 'completed', false],
        [2, 'faulted', false],
        [3, 'notStarted', true],
        [4, 'notStarted', true],
      ],
    );
    assert.deepEqual(output.list[4]?.item, 's5');
  });

  test('an item with an unknown outcome holds no place, and the batch goes on and waits for people at its end', async () => {
    const { caller } = stage;
    const { id } = await stage.begin(['drop-u1', 'u2', 'u3'], { parallel: 1 });
    const child = await stage.child(id, 0, 'suspended');
    await stage.child(id, 2, 'completed');
    await until('an event asks people', () => stage.told(id).length === 1);
    assert.deepEqual(stage.told(id), [undecided]);
    assert.equal((await caller.read(id)).status, 'waiting');
    const [task] = (await caller.tasks(child.id)).filter(({ status }) => status === 'suspended');
    const decision = { task: task?.id, as: 'done', output: { found: true }, reason: 'seen at the device' };
    const reply = await caller.change(child.id, 'resume', decision);
    assert.equal(reply.status, 200, reply.text);
    const output = outputOf(await caller.reaches(id, 'completed', 'faulted'));
    assert.deepEqual(output.list[0]?.output, { found: true });
    assert.deepEqual(countsOf(output), { ...nothing, completed: 3 });
    await until('an event tells of its end', () => stage.told(id).length === 2);
    assert.deepEqual(stage.told(id), [undecided, ended]);
  });

  test('an unknown call of a run inside an item makes the item unknown', async () => {
    const { caller, far } = stage;
    await caller.automation('outer', [
      { in: { run: { workflow: { ...one, input: { item: '${ $workflow.input.item }' } } } } },
      actionTask('after', '"after-" + $workflow.input.item'),
    ]);
    const workflow = { ...one, name: 'outer' };
    const { id } = await stage.begin(['drop-g1', 'g2', 'g3'], { parallel: 1, workflow });
    await stage.child(id, 2, 'completed');
    await until('an event asks people', () => stage.told(id).length === 1);
    const [inside] = await stage.children((await stage.child(id, 0, 'running', 'waiting')).id);
    assert.ok(inside !== undefined);
    const [task] = (await caller.tasks(inside.id)).filter(({ status }) => status === 'suspended');
    assert.equal((await caller.change(inside.id, 'resume', { task: task?.id, as: 'done', reason: 'seen' })).status, 200);
    assert.deepEqual(countsOf(outputOf(await caller.reaches(id, 'completed', 'faulted'))), { ...nothing, completed: 3 });
    assert.ok(far.arrived.includes('after-drop-g1'));
    assert.equal(far.arrived.filter((action) => action === 'drop-g1').length, 1);
  });

  test('suspend and resume reach the items, and no item begins between them', async () => {
    const { far, caller } = stage;
    const { id } = await stage.begin(['hold-r1', 'r2', 'r3'], { parallel: 1 });
    await until('the first is held', () => far.held.includes('hold-r1'));
    assert.equal((await caller.change(id, 'suspend')).status, 200);
    await stage.child(id, 0, 'suspended');
    far.release();
    assert.equal((await stage.children(id)).length, 1);
    assert.equal((await caller.change(id, 'resume')).status, 200);
    assert.deepEqual(countsOf(outputOf(await caller.reaches(id, 'completed', 'faulted'))), { ...nothing, completed: 3 });
  });

  test('a cancel reaches the items, and one whose call is undecided is cancelled only once people decided', async () => {
    const { far, caller } = stage;
    const { id } = await stage.begin(['drop-x1', 'hold-x2', 'x3', 'hold-x4', 'x5'], { parallel: 2, stopAfter: 9 });
    const undecidedChild = await stage.child(id, 0, 'suspended');
    await until('two are held', () => far.held.includes('hold-x2') && far.held.includes('hold-x4'));
    assert.equal((await caller.change(id, 'cancel')).status, 200);
    assert.equal((await caller.read(id)).status, 'cancelled');
    // Their actions may have happened: the connections ended without a reply.
    for (const index of [1, 3]) await stage.child(id, index, 'suspended');
    assert.equal((await stage.child(id, 0, 'suspended')).id, undecidedChild.id);
    assert.equal((await stage.children(id)).length, 4, 'the last item never began');
    await until('an event tells of its end', () => stage.told(id).includes(ended));
    const [event] = stage.receiver.attempts.filter(({ type, source }) => type === ended && source === `/runs/${id}`);
    const { status, completed, unknown, cancelled, notStarted } = event?.data ?? {};
    assert.deepEqual([status, completed, unknown, cancelled, notStarted], ['cancelled', 1, 3, 0, 1]);
    const [task] = (await caller.tasks(undecidedChild.id)).filter((one) => one.status === 'suspended');
    assert.equal((await caller.change(undecidedChild.id, 'resume', { task: task?.id, as: 'done', reason: 'seen' })).status, 200);
    await stage.child(id, 0, 'cancelled');
  });

  test('a time limit cancels the items, and the error is the one of the time limit', async () => {
    const { far, caller } = stage;
    await caller.automation('waiting', [{ pause: { wait: { hours: 1 } } }]);
    const inside = batchOf('${ [1, 2, 3] }', { workflow: { ...one, name: 'waiting' }, parallel: 2 });
    const automation = await caller.automation('limited', [{ all: { ...inside, timeout: { after: { milliseconds: 1_500 } } } }]);
    const { id } = await caller.start(automation);
    await stage.child(id, 1, 'waiting');
    const { error } = await caller.reaches(id, 'faulted', 'completed');
    assert.equal(error?.type, 'https://serverlessworkflow.io/spec/1.0.0/errors/timeout');
    for (const index of [0, 1]) await stage.child(id, index, 'cancelled');
    assert.equal((await stage.children(id)).length, 2);
    assert.deepEqual(far.held, []);
  });

  test('long texts are cut on their entries', async () => {
    const items = ['long-l1', 'l2', `l3-${'y'.repeat(5_000)}`];
    const output = outputOf(await stage.caller.reaches((await stage.begin(items)).id, 'completed', 'faulted'));
    const [long, short, input] = output.list;
    assert.equal(long?.truncated, true);
    assert.ok(typeof long?.output === 'string' && Buffer.byteLength(long.output) <= 4_096, 'cut to a string');
    assert.match(long.output, /^\{"action":"long-l1","filler":"é+$/u);
    assert.deepEqual([short?.truncated, short?.output], [undefined, { action: 'l2', filler: '' }]);
    assert.equal(input?.item, items[2], 'an item is not cut');
  });

  test('each turn of a loop has a batch of its own, and so has a run inside', async () => {
    const { caller, far } = stage;
    await caller.automation('inner', [{ all: batchOf('${ [$workflow.input.name + "-1", $workflow.input.name + "-2"] }') }]);
    const inner = { ...one, name: 'inner', input: { name: '${ "t" + ($turn | tostring) }' } };
    const automation = await caller.automation('turns', [
      { loop: { for: { each: 'turn', in: '${ [7, 8] }' }, do: [{ batch: { run: { workflow: inner } } }] } },
      { twice: { for: { each: 'turn', in: '${ [7, 8] }' }, do: [{ all: batchOf('${ ["w" + ($turn | tostring)] }') }] } },
    ]);
    const output = outputOf(await caller.reaches((await caller.start(automation)).id, 'completed', 'faulted'));
    assert.deepEqual(
      output.list.map(({ item }) => item),
      ['w8'],
    );
    for (const action of ['t7-1', 't7-2', 't8-1', 't8-2', 'w7', 'w8'])
      assert.equal(far.arrived.filter((arrived) => arrived === action).length, 1, action);
  });

  test('a workflow of a batch that reaches a batch is refused, also by way of another', async () => {
    const { caller } = stage;
    await caller.store('nested', [{ all: batchOf('${ [] }') }]);
    await caller.store('around', [{ in: { run: { workflow: { ...one, name: 'nested' } } } }]);
    const refused = async (name: string, tasks: object): Promise<string> => {
      const reply = await caller.store(name, [{ all: tasks }]);
      assert.equal(reply.status, 400, reply.text);
      return reply.text;
    };
    const direct = await refused('direct', batchOf('${ [] }', { workflow: { ...one, name: 'nested' } }));
    assert.match(direct, /runs crash\.nested 1\.0\.0 for each item, and that has a \\"call: batch\\" itself/u);
    assert.match(direct, /"pointer":"\/do\/0\/all\/with\/workflow"/u);
    const indirect = await refused('indirect', batchOf('${ [] }', { workflow: { ...one, name: 'around' } }));
    assert.match(indirect, /reaches crash\.nested 1\.0\.0, which has a/u);
    // The other is not stored yet: a run refuses it.
    await caller.automation('later', [
      { all: batchOf('${ [1] }', { workflow: { ...one, name: 'missing' }, failures: 'count' }) },
    ]);
    await caller.store('missing', [{ all: batchOf('${ [1] }') }]);
    const again = await caller.automation('later2', [{ in: { run: { workflow: { ...one, name: 'later' } } } }]);
    const output = outputOf(await caller.reaches((await caller.start(again)).id, 'completed', 'faulted'));
    assert.equal(output.failed, 1);
    assert.match(JSON.stringify(output.list[0]?.error), /may reach no call: batch/u);
  });
});
