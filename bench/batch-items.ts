/**
 * Two batches of two people, and runs by hand of each meanwhile. The memory stays flat, however many items there are.
 *
 *   node bench/batch-items.ts [ITEMS] [sqlite|postgres]        default 20000, sqlite
 *
 * Prints times, rates and the peak memory of the gateway. Exit code 1 where memory grows with the items, or a count is wrong. The same where a run by
 * hand ends later than 5 s after its start. Linux only.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { people } from '../test/support/approvals/approval-caller.ts';
import { maxMemory } from '../test/support/gateway/max-memory.ts';
import { basic, startGatewayProcess, testPassword } from '../test/support/gateway/start-gateway.ts';
import { type BatchOutput, batchOf } from '../test/support/runs/batch-stage.ts';
import { countingUpstream } from '../test/support/runs/counting-upstream.ts';
import { queryTask, type RunCaller, runCaller } from '../test/support/runs/run-caller.ts';
import { foundPostgres, sqliteStore, storeUrl } from '../test/support/stores/stores.ts';

const [itemsGiven = '20000', kind = 'sqlite'] = process.argv.slice(2);
const items = Number(itemsGiven);
/** MiB that a batch may add to the peak of one a tenth as long. */
const growth = 80;

await using closing = new AsyncDisposableStack();
const owner = {
  after(close: () => void | Promise<void>) {
    closing.defer(async () => close());
  },
};
const store = kind === 'sqlite' ? sqliteStore : foundPostgres;
assert.ok(store !== undefined, 'no PostgreSQL answers');
const far = await countingUpstream(owner);
const gateway = await startGatewayProcess(owner, {
  users: [...people],
  config: { store: { url: storeUrl(await store.fresh(owner)) }, automations: { tasks: 16 } },
  adapters: [{ name: 'Far', kind: 'rest', url: far.url, concurrency: 64 }],
});
const first = runCaller(() => gateway, gateway.basicFor('admin'));
const second = runCaller(() => gateway, basic('ann', testPassword));
await first.automation('item', [queryTask('ask')]);
const automationOf = (by: RunCaller, name: string, count: number): Promise<string> =>
  by.automation(name, [{ all: batchOf(`\${ [range(${count}) | { device: "ce\\(.)" }] }`, { parallel: 20 }) }]);
const hand = await first.automation('hand', [queryTask('ask')]);

/** Runs a batch to its end, and answers its seconds. */
async function measured(by: RunCaller, name: string, count: number): Promise<number> {
  const automation = await automationOf(by, name, count);
  const started = performance.now();
  const { id } = await by.start(automation);
  for (;;) {
    const run = await by.read(id);
    if (run.status === 'completed' || run.status === 'faulted') {
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
      assert.equal((run.output as BatchOutput).completed, count);
      const seconds = (performance.now() - started) / 1000;
      console.log(`${name}: ${count} items in ${seconds.toFixed(1)} s, ${Math.round(count / seconds)} a second`);
      return seconds;
    }
    await sleep(500);
  }
}

const tenth = Math.round(items / 10);
// The first thousands of runs warm the process up: its memory then stays where it is.
for (const round of [1, 2, 3])
  await Promise.all([measured(first, `short${round}`, tenth), measured(second, `too${round}`, tenth)]);
const short = maxMemory(gateway.pid);
console.log(`the memory was at most ${Math.round(short)} MiB`);
const over = new AbortController();
const latest: number[] = [];
const byHand = (async () => {
  while (!over.signal.aborted) {
    for (const by of [first, second]) {
      const started = performance.now();
      const { id } = await by.start(hand);
      await by.reaches(id, 'completed', 'faulted');
      latest.push(performance.now() - started);
    }
    await sleep(1_000);
  }
})();
await Promise.all([measured(first, 'long', items), measured(second, 'other', tenth)]);
over.abort();
await byHand;
const long = maxMemory(gateway.pid);
const worst = Math.round(Math.max(...latest));
console.log(`the memory was at most ${Math.round(long)} MiB; ${latest.length} runs by hand had ended after ${worst} ms at most`);
assert.ok(long - short < growth, `the peak grew by ${Math.round(long - short)} MiB`);
assert.ok(worst < 5_000, 'a run by hand began late');
