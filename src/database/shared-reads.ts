import { inCheckPhase } from '#base/check-phase.ts';

/**
 * Reads of one key that are asked for in the same iteration of the event loop share one statement. It begins after all of them were asked
 * for, so that each sees every commit before it. No caller may change the value that it gets.
 */
export class SharedReads<T> {
  readonly #waiting = new Map<string, Promise<T>>();

  read(key: string, begin: () => Promise<T>): Promise<T> {
    const known = this.#waiting.get(key);
    if (known !== undefined) return known;
    const shared = this.#later(key, begin);
    this.#waiting.set(key, shared);
    return shared;
  }

  async #later(key: string, begin: () => Promise<T>): Promise<T> {
    await new Promise<void>(inCheckPhase);
    this.#waiting.delete(key);
    return await begin();
  }
}
