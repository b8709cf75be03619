// suite: long, waiting

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { BatchOutput } from './support/runs/batch-stage.ts';
import { actionTask, runCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { runStage } from './support/runs/run-stage.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// A run whose document is gone when a gateway takes it up: what it may have called decides what becomes of it.

/** Runs the child, and begins it again where it fails. */
const retrying: TaskDocument = {
  outer: {
    try: [{ inner: { run: { workflow: { namespace: 'crash', name: 'child', version: '1.0.0' } } } }],
    catch: { retry: { delay: { milliseconds: 1 }, limit: { attempt: { count: 5 } } } },
  },
};

type Stage = Awaited<ReturnType<typeof stageOf>>;

async function stageOf(t: Parameters<TestStore['fresh']>[0] & Parameters<TestStore['open']>[0], store: TestStore) {
  const options = await store.empty(t);
  const stage = await runStage(t, { url: storeUrl(options) });
  /** Takes a version out of the store, as no request can while a run has it. */
  const lose = async (name: string): Promise<void> => {
    const database = await store.open(t, options);
    await database.query
      .deleteFrom('workflow')
      .where('id', '=', new TextEncoder().encode(`crash.${name}`))
      .execute();
  };
  return { ...stage, lose };
}

/** Kills the gateway, takes the document of the child away, and starts the gateway again. */
async function afterDeath({ gateway, lose }: Stage) {
  await gateway.stop('SIGKILL');
  await lose('child');
  const again = await gateway.restart();
  return runCaller(() => again, `Bearer ${await again.tokenFor('admin')}`);
}

eachStore((store) => {
  test('a child with an action in flight is suspended where its document is gone, and no second action leaves', async (t) => {
    const stage = await stageOf(t, store);
    const { far, caller } = stage;
    const held = far.hold(() => true);
    await caller.store('child', [actionTask('act', '"one"')]);
    const run = await caller.start(await caller.automation('parent', [retrying]));
    await until('the action has arrived', () => held.actions.length === 1);
    const again = await afterDeath(stage);
    held.release();
    const [child] = (await again.list()).filter(({ id }) => id !== run.id);
    assert.ok(child !== undefined);
    const suspended = await again.reaches(child.id, 'suspended', 'faulted');
    assert.deepEqual([suspended.status, suspended.suspendedBy], ['suspended', 'unknown-outcome']);
    assert.match(assertProblem(await again.change(child.id, 'resume'), 409, 'run-conflict').detail, /right to decide.*act/u);
    const task = '/do/0/act';
    assertProblem(await again.change(child.id, 'resume', { task, as: 'again', reason: 'r' }), 409, 'run-conflict');
    const decided = await again.change(child.id, 'resume', { task, as: 'done', reason: 'The device has it.' });
    assert.equal(decided.status, 200, decided.text);
    assert.equal((await again.reaches(child.id, 'faulted')).status, 'faulted');
    // The parent cannot know what the child did, so people decide there too.
    await again.reaches(run.id, 'suspended');
    await again.change(run.id, 'resume', { task: '/do/0/outer/try/0/inner', as: 'done', output: { a: 1 }, reason: 'r' });
    await again.reaches(run.id, 'completed');
    assert.deepEqual([...far.arrived], [['one', 1]]);
    assert.equal((await again.list()).length, 2, 'the child was not begun again');
  });

  test('a child that has called nothing faults where its document is gone', async (t) => {
    const stage = await stageOf(t, store);
    const { far, caller } = stage;
    await caller.store('child', [{ pause: { wait: { seconds: 2 } } }, actionTask('act', '"one"')]);
    const plain: TaskDocument = { inner: { run: { workflow: { namespace: 'crash', name: 'child', version: '1.0.0' } } } };
    const run = await caller.start(await caller.automation('parent', [plain]));
    await until('the child waits', async () =>
      (await caller.list()).some(({ id, status }) => id !== run.id && status !== 'pending'),
    );
    const again = await afterDeath(stage);
    const ended = await again.reaches(run.id, 'faulted', 'suspended');
    assert.equal(ended.status, 'faulted');
    assert.match(ended.error?.detail ?? '', /was deleted, or has other bytes now/u);
    assert.deepEqual([...far.arrived], []);
  });

  test('an item of a batch with an action in flight waits for people where its document is gone, and the others fault', async (t) => {
    const stage = await stageOf(t, store);
    const { far, caller } = stage;
    const held = far.hold((action) => action === '0' || action === '1');
    await caller.store('child', [actionTask('act', '$workflow.input.index | tostring')]);
    const workflow = { namespace: 'crash', name: 'child', version: '1.0.0' };
    const all: TaskDocument = {
      all: { call: 'batch', with: { items: '${ [range(4)] }', workflow, parallel: 2, failures: 'count' } },
    };
    const run = await caller.start(await caller.automation('batch', [all]));
    await until('two actions have arrived', () => held.actions.length === 2);
    const again = await afterDeath(stage);
    held.release();
    type Counted = SeenRun & { readonly items?: Readonly<Record<string, number>> };
    const counts = async () => ((await again.read(run.id)) as Counted).items ?? {};
    await until('the items have ended, or are undecided', async () => {
      const { unknown, failed } = await counts();
      return unknown === 2 && failed === 2;
    });
    assert.equal((await again.read(run.id)).status, 'waiting');
    const reason = 'The device was asked.';
    const repeated = await again.change(run.id, 'decide', { items: [0], as: 'again', reason });
    assertProblem(repeated, 409, 'run-conflict');
    assert.equal((await again.change(run.id, 'decide', { items: [0], as: 'failed', reason })).status, 200);
    assert.equal((await again.change(run.id, 'decide', { items: [1], as: 'done', reason })).status, 200);
    const ended = await again.reaches(run.id, 'completed', 'faulted');
    assert.equal(ended.status, 'completed', JSON.stringify(ended.error));
    const { list } = ended.output as BatchOutput;
    assert.ok(
      list.every(({ status }) => status === 'faulted'),
      'without its document no item completes',
    );
    assert.match(JSON.stringify(list[3]?.error), /was deleted, or has other bytes now/u);
    assert.deepEqual(
      [...far.arrived].toSorted(([one], [other]) => Number(one) - Number(other)),
      [
        ['0', 1],
        ['1', 1],
      ],
    );
  });
});
