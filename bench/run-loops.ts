/**
 * Long loops in runs: 10,000 queries, whose memory stays flat, and more than 100,000 tasks, which fault the run.
 *
 *   node bench/run-loops.ts [QUERIES]        default 10000
 *
 * Prints times and the peak memory of the gateway. Exit code 1 where a loop ends otherwise, or memory grows with its length. Linux only.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { maxMemory } from '../test/support/gateway/max-memory.ts';
import { actionTask, queryTask, type RunCaller, type SeenRun } from '../test/support/runs/run-caller.ts';
import { runStage } from '../test/support/runs/run-stage.ts';

const queries = Number(process.argv[2] ?? 10_000);
/** MiB that a loop may add to the peak of a loop a tenth as long. */
const growth = 60;

await using closing = new AsyncDisposableStack();
const { far, gateway, caller } = await runStage({
  after(close) {
    closing.defer(async () => close());
  },
});

const items = (count: number): string => `\${ [range(${count}) | { device: "ce\\(.)", address: "10.0.0.1" }] }`;
const loop = (count: number) => [{ each: { for: { each: 'item', in: items(count) }, do: [queryTask('ask')] } }];
const measured = async (count: number): Promise<number> => {
  const before = far.queries;
  const run = await ended(caller, await caller.automation(`loop-${count}`, loop(count)));
  assert.equal(run.status, 'completed', JSON.stringify(run.error));
  assert.equal(far.queries - before, count);
  const peak = maxMemory(gateway.pid);
  console.log(`${count} queries: the memory of the gateway was at most ${Math.round(peak)} MiB`);
  return peak;
};
const short = await measured(Math.round(queries / 10));
const long = await measured(queries);
assert.ok(long - short < growth, `the peak grew by ${Math.round(long - short)} MiB`);

// oxlint-disable-next-line unicorn/no-thenable -- a word of the DSL
const endless = [{ turn: { set: { a: 1 }, then: 'turn' } }];
const automation = await caller.automation('endless', endless);
const other = ended(caller, await caller.automation('other', [actionTask('act', '"other"')]));
const run = await ended(caller, automation);
assert.equal((await other).status, 'completed');
assert.equal(run.status, 'faulted');
assert.match(run.error?.detail ?? '', /100,000 tasks/u);
console.log(`an endless loop: ${run.error?.detail} The memory was at most ${Math.round(maxMemory(gateway.pid))} MiB`);

/** Starts a run, waits for its end and prints its time. */
async function ended(by: RunCaller, of: string): Promise<SeenRun> {
  const started = performance.now();
  const { id } = await by.start(of);
  for (;;) {
    const seen = await by.read(id);
    if (['completed', 'faulted', 'suspended', 'cancelled'].includes(seen.status)) {
      console.log(`${seen.status} after ${Math.round((performance.now() - started) / 100) / 10} s`);
      return seen;
    }
    await sleep(500);
  }
}
