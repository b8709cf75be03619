/** How a caller waits for a permit. */
interface Wait {
  /** Groups that wait take turns; callers without one are a group. */
  readonly group?: string;
}

/** A wait that ends. */
export interface Patience extends Wait {
  /** Milliseconds. */
  readonly limit: number;
  /** Makes the error of `acquire` after that time. */
  readonly late: () => Error;
}

/** Has `atOnce` permits. Callers that find none free wait for one: the groups in turn, the callers of a group in the order of their calls. */
export class Semaphore {
  /** The group whose turn is next comes first. */
  readonly #queues = new Map<string, (() => void)[]>();
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
    return this.#queues.values().reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Resolves once the caller has a permit. The caller must `release` it. */
  acquire(wait: Wait | Patience = {}): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    const { group = '' } = wait;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const grant = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const giveUp = ({ late }: Patience): void => {
      const queue = this.#queues.get(group) ?? [];
      queue.splice(queue.indexOf(grant), 1);
      if (queue.length === 0) this.#queues.delete(group);
      reject(late());
    };
    const timer = 'limit' in wait ? setTimeout(giveUp, wait.limit, wait) : undefined;
    const queue = this.#queues.get(group);
    if (queue === undefined) this.#queues.set(group, [grant]);
    else queue.push(grant);
    return promise;
  }

  /** Returns a permit: of the group whose turn it is, the caller that has waited longest gets it. */
  release(): void {
    const [next] = this.#queues;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [group, queue] = next;
    const grant = queue.shift();
    this.#queues.delete(group);
    if (queue.length > 0) this.#queues.set(group, queue);
    grant?.();
  }

  /** Runs `work` with a permit. */
  async run<T>(work: () => Promise<T>, wait?: Wait | Patience): Promise<T> {
    await this.acquire(wait);
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
