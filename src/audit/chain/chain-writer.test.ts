import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { ChainedEntry } from '../audit-entry.ts';
import type { AuditStore } from '../audit-store.ts';
import { newAuditKey, readAuditKey } from './audit-key.ts';
import { type ChainWriter, createChainWriter } from './chain-writer.ts';
import { emptyChain } from './hash-chain.ts';

/** A store that loses answers, and may commit a batch after it rejected the call. */
class LossyStore implements AuditStore {
  readonly kept: ChainedEntry[] = [];
  #next: 'kept and answered' | 'kept' | 'late' = 'kept and answered';
  #late: readonly ChainedEntry[] = [];

  lose(what: 'kept' | 'late'): void {
    this.#next = what;
  }

  commitLate(): void {
    this.kept.push(...this.#late);
    this.#late = [];
  }

  readonly begin: AuditStore['begin'] = async ({ chain, first }) => {
    if (this.kept.length === 0) this.kept.push(first(key, []));
    return { key, head: this.kept.at(-1) ?? emptyChain(chain) };
  };

  readonly append: AuditStore['append'] = async (entries) => {
    const how = this.#next;
    this.#next = 'kept and answered';
    if (how === 'late') this.#late = entries;
    // The primary key of the table prevents duplicates.
    else if (this.kept.some(({ seq }) => seq === entries[0]?.seq)) throw storeUnavailable('unique');
    else this.kept.push(...entries);
    if (how !== 'kept and answered') throw storeUnavailable('no connection');
  };

  readonly beat: AuditStore['beat'] = async () => {};
  readonly end: AuditStore['end'] = async () => {};
  readonly missingFrom: AuditStore['missingFrom'] = async (_chain, { seq, mac }) =>
    this.kept.some((one) => one.seq === seq && one.mac === mac) ? undefined : (this.kept.at(-1)?.seq ?? 0) + 1;
  readonly recorded: AuditStore['recorded'] = async () => new Map();
}

const key = readAuditKey(newAuditKey());

async function openWriter(store: AuditStore): Promise<ChainWriter> {
  const writer = createChainWriter({
    store,
    clock: systemClock,
    chain: 'c',
    aliveFor: 10_000,
    steady: { wrote() {} },
    startFacts: () => '{}',
    lost: async () => {},
    afterLoss: (lost) => ({ mark: { kind: 'record', call: 0, at: 0, facts: JSON.stringify({ lost }) }, calls: new Map() }),
  });
  await writer.recover();
  return writer;
}

function append(writer: ChainWriter, facts: string): Promise<void> {
  return writer.append([{ kind: 'record', call: 0, at: 0, facts }], 'disk');
}

test('a batch whose answer was lost counts as written exactly if the store has it', async () => {
  for (const what of ['kept', 'late'] as const) {
    const store = new LossyStore();
    const writer = await openWriter(store);
    store.lose(what);
    await assert.rejects(append(writer, '{"a":1}'));
    assert.deepEqual(await writer.recover(), { lastBatchWasWritten: what === 'kept' });
    await append(writer, '{"b":1}');
    assert.deepEqual(
      store.kept.map(({ facts }) => facts),
      what === 'kept' ? ['{}', '{"a":1}', '{"b":1}'] : ['{}', '{"b":1}'],
    );
  }
});

test('a batch refused because of a late commit of the batch before it does not count as written', async () => {
  const store = new LossyStore();
  const writer = await openWriter(store);
  store.lose('late');
  await assert.rejects(append(writer, '{"a":1}'));
  assert.deepEqual(await writer.recover(), { lastBatchWasWritten: false });
  store.commitLate();
  await assert.rejects(append(writer, '{"b":1}'));
  assert.deepEqual(await writer.recover(), { lastBatchWasWritten: false });
  await append(writer, '{"b":1}');
  assert.deepEqual(
    store.kept.map(({ facts }) => facts),
    ['{}', '{"a":1}', '{"b":1}'],
  );
});
