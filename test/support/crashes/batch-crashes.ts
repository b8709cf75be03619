import assert from 'node:assert/strict';
import { type GatewayProcess, startGatewayProcess } from '../gateway/start-gateway.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { type BatchOutput, batchOf, listedRuns } from '../runs/batch-stage.ts';
import { type CountingUpstream, countingUpstream } from '../runs/counting-upstream.ts';
import { decideByArrival } from '../runs/decide-by-arrival.ts';
import { actionTask, type RunCaller, runCaller } from '../runs/run-caller.ts';
import { seededRandom } from '../seeded-random.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';

interface BatchCrashOptions {
  readonly store: TestStore;
  readonly items: number;
  readonly parallel: number;
  readonly kills: number;
  readonly seed: number;
  readonly report?: (line: string) => void;
}

interface BatchCrashResult {
  /** Decisions of people about actions with an unknown outcome: that they happened, and that they did not. */
  readonly done: number;
  readonly again: number;
  /** Milliseconds from the start of the batch to its end. */
  readonly took: number;
}

/**
 * Runs a batch with an action for each item, and kills a gateway (SIGKILL) so many times while it runs, spread over the batch. On PostgreSQL there
 * are two gateways. What is unknown is decided by what the upstream saw. At the end each action has arrived exactly once, and the batch has completed.
 */
export async function runBatchCrashes(owner: Owner, options: BatchCrashOptions): Promise<BatchCrashResult> {
  const { items, parallel, kills, seed, report = () => {} } = options;
  const random = seededRandom(seed);
  const far = await countingUpstream(owner);
  const delays = seededRandom(seed + 1);
  far.answerAfter(() => delays.whole(0, 40));
  const gateways = await startGateways(owner, options, far);
  const [first] = gateways;
  assert.ok(first !== undefined);
  let alive: GatewayProcess = first;
  const caller = runCaller(() => alive, `Bearer ${await first.tokenFor('admin')}`);
  await caller.automation('item', [actionTask('act', '"i" + ($workflow.input.index | tostring)')]);
  const all = batchOf(`\${ [range(${items})] }`, { parallel });
  const automation = await caller.automation('batch', [{ all }]);
  const began = performance.now();
  const { id } = await caller.start(automation);
  for (let kill = 1; kill <= kills; kill += 1) {
    const goal = Math.round((items * (kill - 1 + random.whole(20, 80) / 100)) / kills);
    await far.reaches(goal);
    await lapse(random.whole(0, 25), 'the kill meets another moment');
    const dead = random.whole(0, gateways.length - 1);
    const gateway = gateways[dead];
    assert.ok(gateway !== undefined);
    alive = gateways[(dead + 1) % gateways.length] ?? alive;
    await gateway.stop('SIGKILL');
    gateways[dead] = await gateway.restart();
    if (gateways.length === 1) alive = gateways[dead] ?? alive;
    report(`kill ${kill} after ${goal} actions`);
  }
  const decisions = await decideUntilEnd({ caller, far, id, gateway: () => alive });
  const took = Math.round(performance.now() - began);
  const run = await caller.read(id);
  assert.equal(run.status, 'completed', JSON.stringify(run.error));
  const { list, ...counts } = run.output as BatchOutput;
  assert.deepEqual(counts, { completed: items, failed: 0, unknown: 0, cancelled: 0, notStarted: 0 });
  assert.deepEqual(
    list.map(({ index }) => index),
    Array.from({ length: items }, (_, index) => index),
  );
  for (let index = 0; index < items; index += 1) assert.equal(far.arrived.get(`i${index}`), 1, `the action of item ${index}`);
  return { ...decisions, took };
}

async function startGateways(
  owner: Owner,
  { store, parallel }: BatchCrashOptions,
  far: CountingUpstream,
): Promise<GatewayProcess[]> {
  const url = storeUrl(await store.fresh(owner));
  const gateways: GatewayProcess[] = [];
  for (let count = store.dialect === 'postgres' ? 2 : 1; count > 0; count -= 1)
    gateways.push(
      await startGatewayProcess(owner, {
        config: { store: { url }, automations: { tasks: Math.ceil((parallel * 4) / 3) } },
        adapters: [{ name: 'Far', kind: 'rest', url: far.url, concurrency: 64 }],
      }),
    );
  return gateways;
}

interface Deciding {
  readonly caller: RunCaller;
  readonly far: CountingUpstream;
  readonly id: string;
  readonly gateway: () => GatewayProcess;
}

/** Decides what is unknown until the run has ended; fails where nothing changes for a minute. */
async function decideUntilEnd({
  caller,
  far,
  id,
  gateway,
}: Deciding): Promise<{ readonly done: number; readonly again: number }> {
  const decisions = { done: 0, again: 0 };
  let [seen, since] = ['', performance.now()];
  for (;;) {
    const { status } = await caller.read(id);
    if (status === 'completed' || status === 'faulted') return decisions;
    const now = `${far.arrivals.length} ${decisions.done} ${decisions.again}`;
    if (now !== seen) [seen, since] = [now, performance.now()];
    assert.ok(performance.now() - since < 60_000, `the batch does not go on after ${now}`);
    for (const child of await listedRuns(gateway(), 'status=suspended&limit=1000')) {
      const action = `i${child.id.slice(child.id.lastIndexOf('-') + 1)}`;
      const decided = { name: action, id: child.id, actionOf: () => action };
      for (const as of await decideByArrival(caller, far, decided)) decisions[as] += 1;
    }
    await lapse(200, 'the batch goes on');
  }
}
