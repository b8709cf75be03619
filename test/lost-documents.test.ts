import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { actionTask, runCaller, type TaskDocument } from './support/runs/run-caller.ts';
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
  const options = await store.fresh(t);
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
});
