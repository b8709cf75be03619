import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { StatementRefused } from '#database/store-failure.ts';
import { EntryQueue } from './entry-queue.ts';
import type { UnchainedEntry } from './hash-chain.ts';

function entry(facts: string): UnchainedEntry {
  return { kind: 'record', call: 1, at: 0, facts };
}

/** How the store takes a batch: it does; it refuses it for good; it fails before it has it, or after. */
const manners = ['takes', 'refuses', 'fails', 'fails after'] as const;

/** A queue before a store that keeps what it takes, and treats each batch as it is told to. */
function queueBefore(store: { manner: (typeof manners)[number] }) {
  const written: string[] = [];
  let batches = 0;
  let lastBatchIsIn = false;
  const queue = new EntryQueue({
    writer: {
      async append(entries) {
        await Promise.resolve();
        batches += 1;
        lastBatchIsIn = store.manner === 'fails after';
        if (store.manner === 'refuses') throw new StatementRefused('other', 'it is full');
        if (store.manner !== 'fails') written.push(...entries.map(({ facts }) => facts));
        if (store.manner !== 'takes') throw new Error('away');
      },
      settle: () => Promise.resolve({ lastBatchIsIn }),
    },
    droppedEntry: (count) => entry(`dropped ${count}`),
    refusedEntry: () => entry('refused'),
    onFailure: () => undefined,
    onSuccess: () => undefined,
  });
  return { queue, written, batches: () => batches };
}

test('every entry is written once or counted as dropped, and what the log says was dropped adds up to that', async () => {
  const step = fc.record({ count: fc.integer({ min: 0, max: 1_200 }), manner: fc.constantFrom(...manners) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const store: { manner: (typeof manners)[number] } = { manner: 'takes' };
      const { queue, written } = queueBefore(store);
      let pushed = 0;
      for (const { count, manner } of steps) {
        store.manner = manner;
        for (let entries = 0; entries < count; entries += 1) queue.behind(entry(`entry ${(pushed += 1)}`));
        await queue.flush();
      }
      store.manner = 'takes';
      while (queue.counts().waiting > 0) await queue.flush();
      await queue.close(entry('end'));
      const told = written.flatMap((facts) => /^dropped (\d+)$/u.exec(facts)?.[1] ?? []).map(Number);
      const kept = written.filter((facts) => facts.startsWith('entry '));
      const { dropped } = queue.counts();
      assert.equal(
        told.reduce((sum, count) => sum + count, 0),
        dropped,
      );
      assert.equal(new Set(kept).size, kept.length);
      assert.equal(kept.length + dropped, pushed);
    }),
    { numRuns: 150 },
  );
});

/** The turns of the event loop that a batch takes. */
async function aMoment(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('entries that fill a batch do not wait for their time, however many come in it', async () => {
  const { queue, written } = queueBefore({ manner: 'takes' });
  for (let round = 0; round < 120; round += 1) {
    for (let entries = 0; entries < 250; entries += 1) queue.behind(entry('one'));
    await aMoment();
  }
  assert.deepEqual(queue.counts(), { waiting: 0, dropped: 0 });
  assert.equal(written.length, 30_000);
  await queue.close(entry('end'));
});

test('a store that fails is not asked again for each entry that comes', async () => {
  const store: { manner: (typeof manners)[number] } = { manner: 'fails' };
  const { queue, batches, written } = queueBefore(store);
  for (let round = 0; round < 10; round += 1) {
    for (let entries = 0; entries < 250; entries += 1) queue.behind(entry('one'));
    await aMoment();
  }
  assert.equal(batches(), 1);
  assert.equal(queue.counts().waiting, 2_500);
  store.manner = 'takes';
  await queue.close(entry('end'));
  assert.equal(written.length, 2_501);
});

test('what rides along with a call is written before it, for it was recorded before', async () => {
  const { queue, written } = queueBefore({ manner: 'takes' });
  queue.behind(entry('earlier'));
  await queue.ahead(entry('later'));
  assert.deepEqual(written, ['earlier', 'later']);
  await queue.close(entry('end'));
});
