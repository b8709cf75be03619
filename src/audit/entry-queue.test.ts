import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { StatementRefused } from '#database/store-failure.ts';
import { EntryQueue } from './entry-queue.ts';
import type { UnchainedEntry } from './hash-chain.ts';

function entry(facts: string): UnchainedEntry {
  return { kind: 'record', call: 1, at: 0, facts };
}

/** How the store treats a batch: accepts it, refuses it, or fails before or after it wrote the batch. */
const manners = ['takes', 'refuses', 'fails', 'fails after'] as const;

/** A queue whose store treats each batch as `store.manner` says. */
function queueBefore(store: { manner: (typeof manners)[number] }) {
  const written: string[] = [];
  let batches = 0;
  let lastBatchWasWritten = false;
  const queue = new EntryQueue({
    writer: {
      async append(entries) {
        await Promise.resolve();
        batches += 1;
        lastBatchWasWritten = store.manner === 'fails after';
        if (store.manner === 'refuses') throw new StatementRefused('other', 'it is full');
        if (store.manner !== 'fails') written.push(...entries.map(({ facts }) => facts));
        if (store.manner !== 'takes') throw new Error('away');
      },
      recover: () => Promise.resolve({ lastBatchWasWritten }),
    },
    droppedEntry: (count) => entry(`dropped ${count}`),
    refusedEntry: () => entry('refused'),
    onFailure: () => undefined,
    onSuccess: () => undefined,
  });
  return { queue, written, batches: () => batches };
}

test('every entry is written once or counted as dropped, and the log reports the sum of dropped entries', async () => {
  const step = fc.record({ count: fc.integer({ min: 0, max: 1_200 }), manner: fc.constantFrom(...manners) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const store: { manner: (typeof manners)[number] } = { manner: 'takes' };
      const { queue, written } = queueBefore(store);
      let pushed = 0;
      for (const { count, manner } of steps) {
        store.manner = manner;
        for (let entries = 0; entries < count; entries += 1) queue.writeInBackground(entry(`entry ${(pushed += 1)}`));
        await queue.flush();
      }
      store.manner = 'takes';
      while (queue.counts().waiting > 0) await queue.flush();
      await queue.close(entry('end'));
      const reported = written.flatMap((facts) => /^dropped (\d+)$/u.exec(facts)?.[1] ?? []).map(Number);
      const kept = written.filter((facts) => facts.startsWith('entry '));
      const { dropped } = queue.counts();
      assert.equal(
        reported.reduce((sum, count) => sum + count, 0),
        dropped,
      );
      assert.equal(new Set(kept).size, kept.length);
      assert.equal(kept.length + dropped, pushed);
    }),
    { numRuns: 150 },
  );
});

/** More iterations of the event loop than a batch takes. */
async function iterations(): Promise<void> {
  for (let iteration = 0; iteration < 4; iteration += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('entries that fill a batch are written without delay, also at a high rate', async () => {
  const { queue, written } = queueBefore({ manner: 'takes' });
  for (let round = 0; round < 120; round += 1) {
    for (let entries = 0; entries < 250; entries += 1) queue.writeInBackground(entry('one'));
    await iterations();
  }
  assert.deepEqual(queue.counts(), { waiting: 0, dropped: 0 });
  assert.equal(written.length, 30_000);
  await queue.close(entry('end'));
});

test('a failing store is not tried again for each new entry', async () => {
  const store: { manner: (typeof manners)[number] } = { manner: 'fails' };
  const { queue, batches, written } = queueBefore(store);
  for (let round = 0; round < 10; round += 1) {
    for (let entries = 0; entries < 250; entries += 1) queue.writeInBackground(entry('one'));
    await iterations();
  }
  assert.equal(batches(), 1);
  assert.equal(queue.counts().waiting, 2_500);
  store.manner = 'takes';
  await queue.close(entry('end'));
  assert.equal(written.length, 2_501);
});

test('a background entry is written before the intent that was recorded after it', async () => {
  const { queue, written } = queueBefore({ manner: 'takes' });
  queue.writeInBackground(entry('earlier'));
  await queue.writeAhead(entry('later'));
  assert.deepEqual(written, ['earlier', 'later']);
  await queue.close(entry('end'));
});
