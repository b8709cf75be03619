// suite: long

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallDisk } from './support/faults/small-disk.ts';
import { steppingClock } from './support/faults/stepping-clock.ts';
import { lapse } from './support/lapse.ts';
import { type CountingUpstream, countingUpstream } from './support/runs/counting-upstream.ts';
import { actionTask, type RunCaller, runCaller } from './support/runs/run-caller.ts';
import { adminAt, runGateway, runStage } from './support/runs/run-stage.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { eachStore, foundPostgres, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Runs whose gateway is stopped, and runs whose store is away or full. The upstream counts their actions.

/** Actions with the number of the run and their own, one after the other. */
const actions = (count: number) =>
  Array.from({ length: count }, (_, number) => actionTask(`act${number + 1}`, `$workflow.input.run + "/${number + 1}"`));

/** Starts runs whose actions have the names `prefix0/1` and so on, and answers their ids. */
function startRuns(caller: RunCaller, automation: string, count: number, prefix = 'r'): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, number) => `${prefix}${number}`);
  return Promise.all(names.map(async (run) => (await caller.start(automation, { input: { run } })).id));
}

/** Every run completes, and each of its actions arrived exactly once. */
async function allComplete(
  caller: RunCaller,
  far: CountingUpstream,
  ids: readonly string[],
  actionsOfEach: number,
): Promise<void> {
  for (const id of ids) {
    const run = await caller.reaches(id, 'completed', 'faulted', 'suspended', 'cancelled');
    assert.equal(run.status, 'completed', `${JSON.stringify(run)} ${JSON.stringify(await caller.tasks(id))}`);
  }
  assert.equal(far.arrivals.length, far.arrived.size, 'no action arrived twice');
  assert.equal(far.arrived.size, ids.length * actionsOfEach);
}

/** Decides each call of the run with an unknown outcome by what the upstream saw. */
async function decide(caller: RunCaller, far: CountingUpstream, id: string): Promise<void> {
  const { run } = (await caller.read(id)).input as { readonly run: string };
  for (const task of (await caller.tasks(id)).filter(({ status }) => status === 'suspended')) {
    assert.equal(task.error?.type, 'urn:orchestration-gateway:errors:outcome-unknown');
    const as = far.arrived.has(`${run}/${task.name.slice('act'.length)}`) ? 'done' : 'again';
    const reply = await caller.change(id, 'resume', { task: task.id, as, reason: 'the log of the upstream' });
    assert.equal(reply.status, 200, reply.text);
  }
}

test('a gateway that is stopped beyond its lease begins no task and writes nothing when it goes on', {
  skip: foundPostgres === undefined && 'no PostgreSQL answers',
}, async (t) => {
  if (foundPostgres === undefined) return;
  const url = storeUrl(await foundPostgres.empty(t));
  const far = await countingUpstream(t);
  far.answerAfter(() => 30);
  const held = far.hold((action) => action === 'held0/2' || /^other\d\/3$/u.test(action));
  const asleep = await runGateway(t, far, { url, name: 'asleep' });
  t.after(() => asleep.kill('SIGCONT'));
  const first = await adminAt(asleep);
  const automation = await first.automation('five', actions(5));
  const [id = ''] = await startRuns(first, automation, 1, 'held');
  const others = await startRuns(first, automation, 6, 'other');
  // A call that the stopped gateway sends later would be a second one, where people decide that it did not happen.
  await until('the call of each run has arrived', () => held.actions.length === 7);
  asleep.kill('SIGSTOP');
  const awake = await runGateway(t, far, { url, name: 'awake' });
  const caller = await adminAt(awake);
  const ready = performance.now();
  held.release();
  const late = far.hold((action) => action === 'held0/3');
  // The other gateway takes all of them up. An outcome that only the stopped one may know is unknown.
  for (const run of [id, ...others]) await caller.reaches(run, 'completed', 'suspended');
  t.diagnostic(`all runs taken up and quiet ${Math.round(performance.now() - ready)} ms after the other gateway was ready`);
  assert.equal((await caller.read(id)).status, 'suspended');
  for (const run of [id, ...others]) await decide(caller, far, run);
  for (const run of others) await caller.reaches(run, 'completed');
  // The last run is under way at the other gateway while the first one wakes up.
  await until('the next action is held', () => late.actions.length === 1);
  const before = far.arrivals.length;
  asleep.kill('SIGCONT');
  await until('the first gateway answers again', async () => (await asleep.send({ target: '/readyz' })).status === 200);
  late.release();
  await allComplete(caller, far, [id, ...others], 5);
  assert.deepEqual(
    far.arrivals.slice(before).map(({ action, from }) => [action, from]),
    [
      ['held0/4', 'awake'],
      ['held0/5', 'awake'],
    ],
  );
  assert.deepEqual((await caller.read(id)).output, { action: 'held0/5', from: 'awake' });
});

test('a PostgreSQL that crashes and starts again under load fails no run, and no action is made twice', {
  skip: noOwnPostgres,
}, async (t) => {
  const postgres = await ownPostgres(t);
  const { far, caller } = await runStage(t, { url: postgres.url });
  far.answerAfter(() => 20);
  const automation = await caller.automation('ten', actions(10));
  const ids: string[] = [];
  for (const [round, mode] of (['immediate', 'fast'] as const).entries()) {
    ids.push(...(await startRuns(caller, automation, 8, `${mode}-`)));
    await far.reaches(80 * round + 20);
    await postgres.stop(mode);
    await lapse(1_500, 'actions in flight end, and their outcomes wait for the store');
    await postgres.start();
    await allComplete(caller, far, ids, 10);
  }
});

test('runs wait while the disk of the store is full, and go on once there is room', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.skip('this user may not mount a small disk');
    return;
  }
  const { far, gateway, caller } = await runStage(t, { url: `sqlite:${join(disk.directory, 'gateway.db')}` });
  const automation = await caller.automation('ten', actions(10));
  const held = far.hold((action) => action.endsWith('/3'));
  const ids = await startRuns(caller, automation, 4);
  await until('an action of each run is in flight', () => held.actions.length === 4);
  disk.fill();
  held.release();
  await until('the store is full', () => gateway.stderr.some((line) => line.includes("the store's audit file is unavailable")));
  await lapse(1_000, 'a run would end or fault');
  for (const id of ids) assert.equal((await caller.read(id)).status, 'running');
  disk.makeRoom();
  await allComplete(caller, far, ids, 10);
});

eachStore((store) => {
  test('a clock that steps by an hour, forth and back, lets runs end, and no action is made twice', async (t) => {
    const clock = steppingClock(t);
    const { environment } = clock;
    const hour = 3_600_000;
    const { far, gateway } = await runStage(t, { url: storeUrl(await store.empty(t)), environment });
    // The second step goes back by an hour. A token would have ended with the first.
    const caller = runCaller(() => gateway, gateway.basicFor('admin'));
    const tasks = actions(4).flatMap((action, index) => [action, { [`pause${index}`]: { wait: { milliseconds: 300 } } }]);
    const automation = await caller.automation('four', tasks);
    const ids: string[] = [];
    for (const [round, offset] of [hour, 0].entries()) {
      const held = far.hold((action) => /\/[13]$/u.test(action));
      ids.push(...(await startRuns(caller, automation, 2, `step${round}-`)));
      await until('actions are in flight', () => held.actions.length === 2);
      clock.stepTo(offset);
      await lapse(4_000, 'leases are renewed, and runs are looked for');
      held.release();
      await allComplete(caller, far, ids, 4);
    }
  });
});
