import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { StatementRefused } from '#database/store-failure.ts';
import { until } from '../../test/support/until.ts';
import type { UnchainedEntry } from './chain/hash-chain.ts';
import { EntryQueue } from './entry-queue.ts';

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

/** A companion whose batches are names, and a queue that shows what each transaction has. */
function queueWithCompanion() {
  const transactions: string[][] = [];
  const refuses = new Set<string>();
  let isKnown = true;
  const queue = new EntryQueue({
    writer: {
      async append(entries, _durability, companion) {
        assert.ok(isKnown, 'the head of the chain is known');
        const made = entries.map(({ facts }) => facts);
        transactions.push(made);
        try {
          await companion?.({ made } as never);
        } catch (error) {
          isKnown = false;
          transactions.pop();
          throw error;
        }
      },
      async recover() {
        isKnown = true;
        return { lastBatchWasWritten: false };
      },
    },
    droppedEntry: (count) => entry(`dropped ${count}`),
    refusedEntry: () => entry('refused'),
    onFailure: () => undefined,
    onSuccess: () => undefined,
  });
  const waiting: string[] = [];
  const ends: string[] = [];
  const wake = queue.join({
    get isWaiting() {
      return waiting.length > 0;
    },
    take() {
      const name = waiting.shift();
      if (name === undefined) return undefined;
      return {
        async write(transaction) {
          if (refuses.has(name)) throw new StatementRefused('other', 'no text');
          (transaction as unknown as { readonly made: string[] }).made.push(name);
        },
        committed: () => void ends.push(`${name} committed`),
        failed: (error) => void ends.push(`${name} failed: ${error instanceof StatementRefused ? 'refused' : 'away'}`),
      };
    },
  });
  const step = (name: string): void => {
    waiting.push(name);
    wake();
  };
  return { queue, transactions, refuses, ends, step };
}

test('an outcome, the next step and the next intent of a run are one transaction, without intents of other callers', async () => {
  const { queue, transactions, ends, step } = queueWithCompanion();
  queue.writeInBackground(entry('outcome 1'), 'soon');
  step('step');
  await queue.writeAhead(entry('intent 2'), 'runs');
  assert.deepEqual([transactions, ends], [[['outcome 1', 'intent 2', 'step']], ['step committed']]);
  transactions.length = 0;
  step('other step');
  await Promise.all([queue.writeAhead(entry('intent 3'), 'runs'), queue.writeAhead(entry('action'))]);
  assert.deepEqual(transactions, [['action'], ['intent 3', 'other step']]);
  await queue.close(entry('end'));
});

test('a step that the store refuses costs no entry', async () => {
  const { queue, transactions, refuses, ends, step } = queueWithCompanion();
  refuses.add('bad');
  step('bad');
  step('good');
  await queue.writeAhead(entry('intent'), 'runs');
  await queue.flush();
  assert.deepEqual(transactions, [['intent'], ['good']]);
  assert.deepEqual(ends, ['bad failed: refused', 'good committed']);
  await queue.close(entry('end'));
});

test('an outcome of a run is written soon where no step follows', async () => {
  const { queue, transactions } = queueWithCompanion();
  queue.writeInBackground(entry('refusal'));
  queue.writeInBackground(entry('outcome'), 'soon');
  await until('both are written', () => queue.counts().waiting === 0);
  assert.deepEqual(transactions, [['refusal', 'outcome']]);
  await queue.close(entry('end'));
});
