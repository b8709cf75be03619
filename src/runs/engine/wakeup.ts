/** Ends the wait of a round, also of one that does not wait yet. */
export class Wakeup {
  #wake: () => void = () => {};
  #isRoused = false;

  /** What roused the rounds before is over. */
  begin(): void {
    this.#isRoused = false;
  }

  rouse(): void {
    this.#isRoused = true;
    this.#wake();
  }

  /** `max`: milliseconds. `early` ends the wait as well. */
  async wait(max: number, early?: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    void early?.then(resolve);
    const late = setTimeout(resolve, this.#isRoused ? 0 : max);
    await promise;
    clearTimeout(late);
    this.#wake = () => {};
  }
}
