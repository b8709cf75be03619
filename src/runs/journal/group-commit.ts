import { setImmediate } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Companion, CompanionBatch, Join } from '#audit/companion.ts';
import type { Database } from '#database/database.ts';
import { StatementRefused } from '#database/store-failure.ts';
import type { Tables } from '#database/tables/tables.ts';

interface GatheringOptions<T, R> {
  /** Writes the items in the transaction. Answers their results in their order, and what to call after the commit. */
  readonly write: (
    transaction: Transaction<Tables>,
    items: readonly T[],
  ) => Promise<{ readonly result: readonly R[]; readonly committed: () => void }>;
  /** Two items with the same key are never in one batch; the order of their arrival stays. */
  readonly keyOf: (item: T) => string;
  /** Characters. */
  readonly sizeOf: (item: T) => number;
  /** Whose transactions take the batches. */
  readonly join: Join;
}

interface Gathered<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** A batch has at least one item, and at most so many items and characters. */
const maxItems = 200;
const maxCharacters = 4_000_000;

/** Group commit: items that arrive while a batch is written are written in the next one together. */
export class GroupCommit<T, R> implements Companion {
  readonly #options: GatheringOptions<T, R>;
  readonly #wake: () => void;
  #waiting: Gathered<T, R>[] = [];
  /** Of a batch with an item that the store refused: each is tried by itself. */
  readonly #alone: Gathered<T, R>[] = [];
  readonly #open = new Set<Promise<R>>();

  constructor(options: GatheringOptions<T, R>) {
    this.#options = options;
    this.#wake = options.join(this);
  }

  /** Resolves once the item is durable. Rejects as its batch does; an item that the store refuses spoils no other one. */
  add(item: T): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    this.#waiting.push({ item, resolve, reject });
    this.#open.add(promise);
    promise.catch(() => {}).finally(() => this.#open.delete(promise));
    this.#wake();
    return promise;
  }

  /** Resolves once no item waits. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  get isWaiting(): boolean {
    return this.#alone.length > 0 || this.#waiting.length > 0;
  }

  take(): CompanionBatch | undefined {
    const alone = this.#alone.shift();
    const batch = alone === undefined ? this.#nextBatch() : [alone];
    if (batch.length === 0) return undefined;
    let written: Awaited<ReturnType<GatheringOptions<T, R>['write']>> | undefined;
    return {
      write: async (transaction) => {
        written = await this.#options.write(
          transaction,
          batch.map(({ item }) => item),
        );
      },
      committed: () => {
        for (const [index, { resolve, reject }] of batch.entries()) {
          if (written !== undefined && index in written.result) resolve(written.result[index] as R);
          else reject(new Error('A batch has a result for each item.'));
        }
        written?.committed();
      },
      failed: (error) => {
        if (batch.length > 1 && error instanceof StatementRefused) this.#alone.push(...batch);
        else for (const { reject } of batch) reject(error);
      },
    };
  }

  #nextBatch(): readonly Gathered<T, R>[] {
    const { keyOf, sizeOf } = this.#options;
    const keys = new Set<string>();
    const batch: Gathered<T, R>[] = [];
    const later: Gathered<T, R>[] = [];
    let size = 0;
    for (const gathered of this.#waiting) {
      const key = keyOf(gathered.item);
      const isNext = !keys.has(key) && batch.length < maxItems && (batch.length === 0 || size < maxCharacters);
      keys.add(key);
      if (!isNext) {
        later.push(gathered);
        continue;
      }
      batch.push(gathered);
      size += sizeOf(gathered.item);
    }
    this.#waiting = later;
    return batch;
  }
}

/** Transactions that nothing else shares. */
export function ownTransactions({ ofRuns }: Pick<Database, 'ofRuns'>): Join {
  return (companion) => {
    let isRunning = false;
    const run = async (): Promise<void> => {
      // Items of the same iteration of the event loop go into the same batch.
      await setImmediate();
      for (let batch = companion.take(); batch !== undefined; batch = companion.take()) {
        const { write, committed, failed } = batch;
        await ofRuns
          .transaction()
          .execute((transaction) => write(transaction))
          .then(committed, failed);
        await setImmediate();
      }
      isRunning = false;
    };
    return () => {
      if (isRunning) return;
      isRunning = true;
      void run();
    };
  };
}
