/** Lets so many go at a time, and the others in the order they came. */
export class Turns {
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

  /** Resolves when it is their turn, which they give back; rejects with what `late` answers after `limit` milliseconds. */
  take(limit: number, late: () => Error): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#queue.splice(this.#queue.indexOf(go), 1);
      reject(late());
    }, limit);
    const go = (): void => {
      clearTimeout(timer);
      resolve();
    };
    this.#queue.push(go);
    return promise;
  }

  giveBack(): void {
    const go = this.#queue.shift();
    if (go === undefined) this.#free += 1;
    else go();
  }
}
