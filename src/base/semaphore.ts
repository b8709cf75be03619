/** How long a caller waits for a permit. */
interface Patience {
  /** Milliseconds. */
  readonly limit: number;
  /** Makes the error of `acquire` after that time. */
  readonly late: () => Error;
}

/** Has `atOnce` permits. Callers that find none free wait for one in the order of their calls. */
export class Semaphore {
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Permits that are free. */
  get free(): number {
    return this.#free;
  }

  /** Callers that wait for a permit. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves once the caller has a permit. The caller must `release` it. */
  acquire(patience?: Patience): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const grant = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const giveUp = ({ late }: Patience): void => {
      this.#queue.splice(this.#queue.indexOf(grant), 1);
      reject(late());
    };
    const timer = patience === undefined ? undefined : setTimeout(giveUp, patience.limit, patience);
    this.#queue.push(grant);
    return promise;
  }

  /** Returns a permit: the caller that has waited longest gets it. */
  release(): void {
    const grant = this.#queue.shift();
    if (grant === undefined) this.#free += 1;
    else grant();
  }

  /** Runs `work` with a permit. */
  async run<T>(work: () => Promise<T>, patience?: Patience): Promise<T> {
    await this.acquire(patience);
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
