// suite: long

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { actionTask, runCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { runStage } from './support/runs/run-stage.ts';
import { until } from './support/until.ts';

// Cancelling, and workflows that ask for too much. An ordinary run completes with each of these.

const { far, caller } = await runStage({ after });
const ordinary = await caller.automation('ordinary', [actionTask('act', '$workflow.input.run')]);
let count = 0;

async function startOf(tasks: readonly TaskDocument[]): Promise<SeenRun> {
  count += 1;
  return await caller.start(await caller.automation(`hostile${count}`, tasks));
}

/** The detail of the error with which a run of these tasks ends. Another run completes meanwhile. */
async function faultOf(tasks: readonly TaskDocument[]): Promise<string> {
  const run = await startOf(tasks);
  const other = await caller.start(ordinary, { input: { run: `other${count}` } });
  await caller.reaches(other.id, 'completed');
  const { status, error } = await caller.reaches(run.id, 'faulted', 'completed');
  assert.equal(status, 'faulted');
  return error?.detail ?? '';
}

test('a cancelled run closes the connection of its action in flight, and begins no other task', async (t) => {
  const held = far.hold((action) => action === 'cancelled');
  const { id } = await startOf([actionTask('act', '"cancelled"'), actionTask('never', '"never"')]);
  await until('the action is in flight', () => held.actions.length === 1);
  const asked = performance.now();
  const reply = await caller.change(id, 'cancel');
  assert.equal(reply.status, 200, reply.text);
  t.diagnostic(`cancelled after ${Math.round(performance.now() - asked)} ms`);
  await until('the connection is closed', () => held.left.length === 1);
  t.diagnostic(`the connection was closed after ${Math.round(performance.now() - asked)} ms`);
  assert.equal((await caller.read(id)).status, 'cancelled');
  held.release();
  assert.ok(!far.arrived.has('never'));
  assert.deepEqual(
    (await caller.tasks(id)).map(({ name, status }) => [name, status]),
    [['act', 'cancelled']],
  );
});

test('a cancelled run cancels the run inside it, whose connection is closed', async (t) => {
  const held = far.hold((action) => action === 'inner');
  await caller.automation('inner', [actionTask('act', '"inner"')]);
  const inside = { workflow: { namespace: 'crash', name: 'inner', version: '1.0.0' } };
  const outer = await startOf([{ child: { run: inside } }]);
  await until('the action is in flight', () => held.actions.length === 1);
  const asked = performance.now();
  assert.equal((await caller.change(outer.id, 'cancel')).status, 200);
  await until('the connection is closed', () => held.left.length === 1);
  t.diagnostic(`the connection of the inner run was closed after ${Math.round(performance.now() - asked)} ms`);
  held.release();
  await caller.reaches(outer.id, 'cancelled');
  const inner = (await caller.list()).find(({ id }) => id.startsWith(`${outer.id}.`));
  await caller.reaches(inner?.id ?? '', 'cancelled');
});

test('an expression that takes too long, or too much memory, faults its run and no other one', async () => {
  const evaluating = (jq: string): readonly TaskDocument[] => [{ much: { set: { out: `\${ ${jq} }` } } }];
  assert.match(await faultOf(evaluating('[limit(1e9; repeat(1))] | length')), /longer than 1000 ms|64 MiB/u);
  assert.match(await faultOf(evaluating('last(range(1e12))')), /longer than 1000 ms/u);
  assert.match(await faultOf(evaluating('"x" * (9e7 + ($workflow.input | length)) | length')), /64 MiB|longer than 1000 ms/u);
});

test('an output of more than 8 MiB faults the run with the limit, and the action is not made again', async () => {
  far.fill(9_000_000);
  const large = await startOf([actionTask('act', '"large"'), actionTask('never', '"never"')]);
  const { status, error } = await caller.reaches(large.id, 'faulted', 'completed', 'suspended');
  far.fill(0);
  assert.equal(status, 'faulted');
  assert.match(error?.detail ?? '', /8 MiB/u);
  assert.equal(far.arrived.get('large'), 1);
  assert.ok(!far.arrived.has('never'));
});

test('a document with tasks in more than 100 levels is refused with the limit', async () => {
  let nested: TaskDocument = { inmost: { set: { a: 1 } } };
  for (let level = 1; level <= 100; level += 1) nested = { [`level${level}`]: { do: [nested] } };
  for (const type of ['application/json', 'application/yaml']) {
    const reply = await caller.store('nested', [nested], type);
    assertProblem(reply, 400, 'workflow-invalid');
    assert.match(reply.text, /nested (?:deeper|in more) than \d+/u);
  }
});

test('texts of errors are cut to 4 KiB and say so, and lists of runs and tasks stay short', async () => {
  const long = '"x" * 1000000';
  const texts = { title: `\${ ${long} }`, detail: `\${ ${long} }`, instance: `\${ ${long} }` };
  const raised = { error: { type: 'https://example.net/a', status: 400, ...texts } };
  const schema = { format: 'json', document: { properties: { a: { const: 1 } }, additionalProperties: false } };
  for (const tasks of [
    [{ stop: { raise: raised } }],
    [{ stop: { set: { a: `\${ error(${long}) }` } } }],
    [{ stop: { set: { a: `\${ error({ a: (${long}) }) }` } } }],
    [{ stop: { set: { a: 1 }, output: { as: `\${ { (${long}): 1 } }`, schema } } }],
  ] as readonly (readonly TaskDocument[])[]) {
    const run = await startOf(tasks);
    const { status, error = { type: '', status: 0 } } = await caller.reaches(run.id, 'faulted', 'completed');
    assert.equal(status, 'faulted', JSON.stringify(tasks));
    assert.match(JSON.stringify(error), /… \(cut\)/u);
    for (const text of Object.values(error)) assert.ok(String(text).length <= 4_096, JSON.stringify(tasks));
    assert.ok(JSON.stringify(await caller.tasks(run.id)).length < 20_000);
  }
  assert.ok(JSON.stringify(await caller.list()).length < 500_000);
});

test('a result of more than 8 MiB is an error of the expression, and never reaches the run', async () => {
  // A busy machine may not make the value within the time of an expression.
  const detail = await until('the value is made in time', async () => {
    const fault = await faultOf([{ much: { set: { out: '${ "x" * 9000000 }' } } }]);
    return !fault.includes('took longer than') && fault;
  });
  assert.match(detail, /the result has more than 8 MiB/u);
});

test('a question of more than 10 KiB, or to very many groups, fails its task', async () => {
  const asking = (more: object): readonly TaskDocument[] => [
    { ask: { call: 'approval', with: { message: 'Go on?', approvers: { groups: ['noc'] }, ...more } } },
  ];
  assert.match(await faultOf(asking({ message: '${ "x" * 10241 }' })), /\/message has more than 10 KiB/u);
  assert.match(await faultOf(asking({ approvers: { groups: '${ [range(101) | tostring] }' } })), /names more than 100/u);
  assert.match(await faultOf(asking({ approvers: { groups: '${ ["x" * 5000] }' } })), /a name of more than 1024 characters/u);
});

test('runs that wait for room for one more approval hold no place, and ask once there is room', async (t) => {
  const approvals = [{ name: 'held', when: { paths: ['held/**'] }, approvers: { roles: ['engineering'] } }];
  const gateway = await startGateway(t, {
    config: { approvals, automations: { tasks: 2 }, server: { requestBodyLimit: '128MiB' } },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
  });
  const admin = runCaller(() => gateway, gateway.basicFor('admin'));
  const send = (role: 'admin' | 'engineering', method: string, target: string, body: object) =>
    gateway.send({ role, method, target, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const listed = async (query: string): Promise<readonly { readonly id: string }[]> =>
    ((await gateway.send({ role: 'admin', target: `/approvals?${query}` })).json() as { list: readonly { id: string }[] }).list;
  const long = { params: { path: 'held/long', accept: 'application/json' }, body: { text: 'x'.repeat(105_000_000) } };
  assertProblem(await send('admin', 'POST', '/orchestrator_manager/restAction/Far', long), 403, 'approval-required');
  const held = await listed('status=waiting');
  const ask = { ask: { call: 'approval', with: { message: 'Go on?', approvers: { roles: ['engineering'] } } } };
  const act = {
    act: { call: 'orchestratorAction', with: { adapter: 'Far', params: { path: 'held/x', accept: 'a/b' }, body: {} } },
  };
  const waiting: string[] = [];
  for (const task of [ask, act]) {
    const automation = await admin.automation(Object.keys(task).join(''), [task]);
    for (let count = 0; count < 3; count += 1) waiting.push((await admin.start(automation)).id);
  }
  for (const id of waiting) await admin.reaches(id, 'waiting');
  const plain = await admin.automation('plain', [{ only: { set: { a: 1 } } }]);
  await admin.reaches((await admin.start(plain)).id, 'completed');
  for (const { id } of held)
    assert.equal((await send('engineering', 'POST', `/approvals/${id}/reject`, { reason: 'x' })).status, 200);
  // In place of the minute that the refusal names.
  const database = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'), { timeout: 10_000 });
  assert.equal(database.prepare('update run_claim set due_at = 0 where owner is null').run().changes, 6);
  database.close();
  await admin.start(plain);
  for (const id of waiting) await until('the run asks', async () => (await listed(`run=${id}`)).length === 1);
});
