import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pending } from './pending.ts';
import { ok, performed, start, TestRun } from './run-harness.test-support.ts';
import { writeState } from './state/run-state.ts';
import { step } from './step.ts';
import {
  attempt,
  call,
  constant,
  type Draft,
  jq,
  loop,
  perform,
  set,
  wait,
  workflowOf,
} from './workflow-builders.test-support.ts';

test('a run of more than 100,000 tasks faults, and no catch takes that', () => {
  const endless = attempt('try', [set('a', constant(1), { next: { index: 0 } })]);
  const run = performed(workflowOf([endless]));
  assert.equal(run.state.status, 'faulted');
  assert.equal(run.error?.detail, 'The run has more than 100,000 tasks.');
  assert.equal(run.state.tasks, 100_000);
  assert.ok(run.steps > 400, 'no step takes long');
});

test('tasks may be nested in 100 levels', () => {
  const nested = (levels: number) => {
    let inner: Draft = set('a', constant(1));
    for (let level = 1; level < levels; level += 1) inner = perform('d', [inner]);
    return performed(workflowOf([inner]));
  };
  assert.equal(nested(100).output, 1);
  assert.equal(nested(101).error?.detail, 'Tasks are nested in more than 100 levels.');
});

test('the context and one value of a task have at most 8 MiB together', () => {
  const large = (mebibytes: number) => ok('x'.repeat(mebibytes * 1_048_576));
  const run = performed(workflowOf([attempt('try', [call('a')])]), { calls: () => large(8) });
  assert.equal(run.error?.detail, 'The context and the data of one task have more than 8 MiB together.');
  const workflow = workflowOf([call('a', { export: { as: jq('.') } }), call('b')]);
  assert.equal(
    performed(workflow, { calls: ({ reference }) => (reference.endsWith('a') ? large(3) : large(4)) }).state.status,
    'completed',
  );
  assert.equal(performed(workflow, { calls: () => large(5) }).state.status, 'faulted');
  assert.equal(performed(workflow, { calls: () => ok('ü'.repeat(2_500_000)) }).state.status, 'faulted');
});

test('iterations over a large array neither copy it nor write it again', () => {
  const items = JSON.stringify(
    Array.from({ length: 10_000 }, (_item, index) => ({ device: `ce${index}`, address: 'ä'.repeat(20) })),
  );
  const over = { jq: items, constant: items };
  const workflow = workflowOf([loop('all', over, [call('query', { with: jq('{ device: $item.device }') })])]);
  const run = new TestRun(workflow);
  run.send({ kind: 'timePassed', at: start });
  const ids = new Set<string>();
  let longest = 0;
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 10_000; index += 1) {
    const [effect, ...more] = pending(workflow, run.state);
    if (effect?.kind !== 'call' || more.length > 0 || !('evaluation' in effect.with)) throw new Error('not one call');
    assert.deepEqual(Object.keys(effect.with.evaluation.variables), ['item']);
    assert.ok(effect.with.evaluation.variables['item']?.includes(`"ce${index}"`));
    const { text, values } = writeState(run.state);
    longest = Math.max(longest, text.length);
    for (const id of values.keys()) ids.add(id);
    run.state = step(workflow, run.state, { kind: 'callEnded', at: start, key: effect.key, result: ok(index) }).state;
  }
  assert.equal(run.state.status, 'completed');
  assert.equal(run.state.output?.text, '9999');
  assert.equal(ids.size, 1, 'the array is one value from the first to the last iteration');
  assert.ok(longest < 2_000, `a state of ${longest} characters`);
  assert.ok(process.memoryUsage().heapUsed - before < 100 * 1_048_576);
});

test('a state names a value by the same id after a crash', () => {
  const workflow = workflowOf([wait('a', { iso: 'PT1S' })]);
  const idsOf = (crashes: boolean) => {
    const run = new TestRun(workflow, { crashes, input: 'x'.repeat(600) });
    run.send({ kind: 'timePassed', at: start });
    return [...writeState(run.state).values.keys()];
  };
  assert.equal(idsOf(false).length, 1);
  assert.deepEqual(idsOf(true), idsOf(false));
});

test('an event that the run does not wait for changes nothing', () => {
  const workflow = workflowOf([call('a')]);
  const run = new TestRun(workflow);
  run.send({ kind: 'timePassed', at: start });
  const key = 'wait.99';
  for (const event of [
    { kind: 'callEnded', at: start, key, result: ok(1) },
    { kind: 'evaluated', at: start, key, outcome: { results: [] } },
    { kind: 'failed', at: start, key, error: { type: 'urn:x', status: 400 } },
    { kind: 'timePassed', at: start },
    { kind: 'resume', at: start },
    { kind: 'decided', at: start, activity: 1, as: 'done', reason: '' },
  ] as const) {
    assert.equal(step(workflow, run.state, event).state, run.state, event.kind);
  }
});
