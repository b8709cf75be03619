/** How a caller waits for a permit. */
interface Wait {
  /** Groups that wait take turns; callers without one are a group. */
  readonly group?: string;
  /** Ends the wait with the reason of an abort. */
  readonly scope?: Scope;
}

/** Something that can be aborted, with one listener at a time. Undefined removes it. */
interface Scope {
  whenAborted(abort: ((reason: Error) => void) | undefined): void;
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
  readonly atOnce: number;
  /** The group whose turn is next comes first. */
  readonly #queues = new Map<string, (() => void)[]>();
  #inFlight = 0;

  constructor(atOnce: number) {
    this.atOnce = atOnce;
  }

  /** Permits that callers have. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Callers that wait for a permit. */
  get waiting(): number {
    return this.#queues.values().reduce((sum, queue) => sum + queue.length, 0);
  }

  /** True if the caller has a permit now. The caller must then `release` it. */
  tryAcquire(): boolean {
    if (this.#inFlight >= this.atOnce) return false;
    this.#inFlight += 1;
    return true;
  }

  /** Resolves once the caller has a permit. The caller must `release` it. */
  acquire(wait: Wait | Patience = {}): Promise<void> {
    if (this.tryAcquire()) return Promise.resolve();
    const { group = '', scope } = wait;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (): void => {
      clearTimeout(timer);
      scope?.whenAborted(undefined);
    };
    const grant = (): void => {
      end();
      resolve();
    };
    const giveUp = (reason: Error): void => {
      end();
      const queue = this.#queues.get(group) ?? [];
      queue.splice(queue.indexOf(grant), 1);
      if (queue.length === 0) this.#queues.delete(group);
      reject(reason);
    };
    const queue = this.#queues.get(group);
    if (queue === undefined) this.#queues.set(group, [grant]);
    else queue.push(grant);
    const timer = 'limit' in wait ? setTimeout(() => giveUp(wait.late()), wait.limit) : undefined;
    scope?.whenAborted(giveUp);
    return promise;
  }

  /** Returns a permit: of the group whose turn it is, the caller that has waited longest gets it. */
  release(): void {
    const [next] = this.#queues;
    if (next === undefined) {
      this.#inFlight -= 1;
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
