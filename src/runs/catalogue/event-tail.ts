import { every } from '#base/timing/every.ts';
import type { EventRecord } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';

export interface TailReader {
  readonly tail: Pick<SharedTail, 'end' | 'rewound' | 'after' | 'growth'>;
  close(): void;
}

/** The newest events of the log. It reads each event once for all readers, and nothing without readers. */
export interface EventTail {
  /** Rejects with `store-unavailable`. */
  open(): Promise<TailReader>;
}

export interface TailOptions {
  /** Milliseconds after which the log is read without a notification. */
  readonly poll: number;
  /** Events that one statement reads. */
  readonly page: number;
  /** Events, and UTF-16 units of their texts, that are kept for readers that are late. */
  readonly keeps: { readonly events: number; readonly length: number };
}

const usual: TailOptions = { poll: 3_000, page: 200, keeps: { events: 2_000, length: 4_194_304 } };

type TailStore = Pick<RunStore, 'events' | 'lastEvent' | 'onChange'>;

export function createEventTail(store: TailStore, options: TailOptions = usual): EventTail {
  let current: { readonly tail: Promise<SharedTail>; readers: number } | undefined;
  return {
    async open() {
      current ??= { tail: SharedTail.begin(store, options), readers: 0 };
      const used = current;
      used.readers += 1;
      let isOpen = true;
      const close = (): void => {
        if (!isOpen) return;
        isOpen = false;
        used.readers -= 1;
        if (used.readers > 0) return;
        if (current === used) current = undefined;
        used.tail.then(
          (tail) => tail.stop(),
          () => undefined,
        );
      };
      try {
        return { tail: await used.tail, close };
      } catch (error) {
        close();
        throw error;
      }
    },
  };
}

/** A class, because it has the state of one period with readers: a read that ends later must not touch the next period. */
class SharedTail {
  readonly #store: TailStore;
  readonly #options: TailOptions;
  readonly #waiting = new Set<() => void>();
  readonly #forget: () => void;
  readonly #polling: { stop(): Promise<void> };
  #records: EventRecord[] = [];
  #length = 0;
  /** Every event after it, up to `end`, is in `#records`. */
  #start: number;
  #end: number;
  #rewound = { times: 0, to: 0 };
  #reading = false;
  #again = false;
  #stopped = false;

  static async begin(store: TailStore, options: TailOptions): Promise<SharedTail> {
    return new SharedTail(store, options, await store.lastEvent());
  }

  constructor(store: TailStore, options: TailOptions, end: number) {
    this.#store = store;
    this.#options = options;
    this.#start = end;
    this.#end = end;
    this.#forget = store.onChange((change) => {
      if (change.kind === 'rewound') this.#rewind(change.to);
      if (change.kind !== 'run') void this.#read();
    });
    this.#polling = every(
      options.poll,
      () => this.#read(),
      () => undefined,
    );
    // What came between the look at the store and the listener.
    void this.#read();
  }

  /** The highest number that was read. */
  get end(): number {
    return this.#end;
  }

  /** How often the store lost events since the tail began, and the number to which readers go back. */
  get rewound(): { readonly times: number; readonly to: number } {
    return this.#rewound;
  }

  /** Reads again from the head that the store had when the loss was noticed. */
  #rewind(to: number): void {
    if (this.#end <= to) return;
    this.#rewound = { times: this.#rewound.times + 1, to };
    [this.#records, this.#length, this.#start, this.#end] = [[], 0, to, to];
    for (const resolve of this.#waiting) resolve();
  }

  /** The events after a number; undefined where some of them are not kept any more. The same array for all readers. */
  after(number: number): { readonly records: readonly EventRecord[]; readonly from: number } | undefined {
    if (number < this.#start) return undefined;
    return { records: this.#records, from: placeAfter(this.#records, number) };
  }

  /** Resolves with the next events, after `limit` milliseconds, or with the signal. */
  async growth(limit: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, limit);
    this.#waiting.add(resolve);
    const abort = (): void => resolve();
    signal.addEventListener('abort', abort);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(resolve);
      signal.removeEventListener('abort', abort);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#forget();
    void this.#polling.stop();
  }

  /** One reading at a time. After a failure the next change or poll reads again. */
  async #read(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    const { page } = this.#options;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        const after = this.#end;
        const records = await this.#store.events({ after, limit: page });
        // A loss was noticed meanwhile.
        if (after !== this.#end) continue;
        if (records.length === page) this.#again = true;
        this.#append(records);
      }
    } catch {
      // The store is away. Readers wait, and the poll tries again.
    } finally {
      this.#reading = false;
    }
  }

  #append(records: readonly EventRecord[]): void {
    const last = records.at(-1);
    if (last === undefined) return;
    const { keeps } = this.#options;
    // A new array, because readers go through the old one.
    const all = [...this.#records, ...records];
    let length = this.#length + records.reduce((sum, { event }) => sum + event.length, 0);
    let dropped = 0;
    for (const { event } of all) {
      if (all.length - dropped <= keeps.events && length <= keeps.length) break;
      dropped += 1;
      length -= event.length;
    }
    this.#start = all[dropped - 1]?.number ?? this.#start;
    this.#records = all.slice(dropped);
    this.#length = length;
    this.#end = last.number;
    for (const resolve of this.#waiting) resolve();
  }
}

function placeAfter(records: readonly EventRecord[], number: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.number ?? 0) > number) high = middle;
    else low = middle + 1;
  }
  return low;
}
