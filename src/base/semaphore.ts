/** How long somebody waits for a turn, in milliseconds, and what that ends in. */
interface Patience {
  readonly limit: number;
  readonly late: () => Error;
}

/** Lets so many go at a time, and the others in the order they came. */
export class Semaphore {
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** How many more may go now. */
  get free(): number {
    return this.#free;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves when it is their turn, which they give back. */
  acquire(patience?: Patience): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const go = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const giveUp = ({ late }: Patience): void => {
      this.#queue.splice(this.#queue.indexOf(go), 1);
      reject(late());
    };
    const timer = patience === undefined ? undefined : setTimeout(giveUp, patience.limit, patience);
    this.#queue.push(go);
    return promise;
  }

  release(): void {
    const go = this.#queue.shift();
    if (go === undefined) this.#free += 1;
    else go();
  }

  /** Does `work` when it is its turn. */
  async run<T>(work: () => Promise<T>, patience?: Patience): Promise<T> {
    await this.acquire(patience);
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
