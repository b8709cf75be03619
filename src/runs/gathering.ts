import { setImmediate } from 'node:timers/promises';
import { StatementRefused } from '#database/store-failure.ts';

interface GatheringOptions<T, R> {
  /** Writes the items in one transaction. Answers in their order. */
  readonly write: (items: readonly T[]) => Promise<readonly R[]>;
  /** Two items with the same key are never in one batch; the order of their arrival stays. */
  readonly keyOf: (item: T) => string;
  /** Characters. */
  readonly sizeOf: (item: T) => number;
}

interface Gathered<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** A batch has at least one item, and at most so many items and characters. */
const itemsAtMost = 200;
const charactersAtMost = 4_000_000;

/** Group commit: items that arrive while a batch is written are written in the next one together. */
export class Gathering<T, R> {
  readonly #options: GatheringOptions<T, R>;
  #waiting: Gathered<T, R>[] = [];
  #running: Promise<void> | undefined;

  constructor(options: GatheringOptions<T, R>) {
    this.#options = options;
  }

  /** Resolves once the item is durable. Rejects as its batch does; an item that the store refuses spoils no other one. */
  add(item: T): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    this.#waiting.push({ item, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  /** Resolves once no item waits. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Items of the same iteration of the event loop go into the same batch.
      await setImmediate();
      await this.#write(this.#nextBatch());
    }
    this.#running = undefined;
  }

  #nextBatch(): readonly Gathered<T, R>[] {
    const { keyOf, sizeOf } = this.#options;
    const keys = new Set<string>();
    const batch: Gathered<T, R>[] = [];
    const later: Gathered<T, R>[] = [];
    let size = 0;
    for (const gathered of this.#waiting) {
      const key = keyOf(gathered.item);
      const isNext = !keys.has(key) && batch.length < itemsAtMost && (batch.length === 0 || size < charactersAtMost);
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

  async #write(batch: readonly Gathered<T, R>[]): Promise<void> {
    try {
      const results = await this.#options.write(batch.map(({ item }) => item));
      for (const [index, { resolve, reject }] of batch.entries()) {
        if (index in results) resolve(results[index] as R);
        else reject(new Error('A batch has a result for each item.'));
      }
    } catch (error) {
      if (batch.length > 1 && error instanceof StatementRefused) {
        for (const gathered of batch) await this.#write([gathered]);
      } else for (const { reject } of batch) reject(error);
    }
  }
}
