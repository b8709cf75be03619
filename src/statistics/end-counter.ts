import { bucketOf, type EndedWork, grains, microseconds } from './rollup.ts';

/** Milliseconds. */
const delay = 1_000;

/**
 * Counts ends once a second, in one statement: with each of them it would cost more than their records. A killed process loses the ends of the
 * last second; after a failure of the store whose result is unknown, some may count twice.
 */
export class EndCounter {
  readonly #write: (ends: readonly EndedWork[]) => Promise<unknown>;
  readonly #waiting = new Map<string, EndedWork & { readonly count: number }>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<unknown> | undefined;
  #isClosed = false;

  /** `write`: adds them to the rollups. Where it rejects, they are written a second later. */
  constructor(write: (ends: readonly EndedWork[]) => Promise<unknown>) {
    this.#write = write;
  }

  add(ends: readonly EndedWork[]): void {
    for (const end of ends) this.#keep(end);
    if (this.#waiting.size > 0 && !this.#isClosed) this.#timer ??= setTimeout(() => void this.#flush(), delay).unref();
  }

  /** Writes what waits, once. What the store does not take then is lost. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#flush();
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ends = [...this.#waiting.values()];
    this.#waiting.clear();
    if (ends.length === 0) return;
    this.#writing = this.#write(ends).catch(() => this.add(ends));
    await this.#writing;
  }

  /** Those that the rollups count in one row are one, so that an outage of the store takes little memory. */
  #keep(end: EndedWork): void {
    const key = JSON.stringify([end.kind, end.subject, end.status, bucketOf(microseconds(end)), Math.floor(end.at / grains[0])]);
    const same = this.#waiting.get(key);
    const count = (same?.count ?? 0) + (end.count ?? 1);
    this.#waiting.set(key, { ...end, count, duration: Math.max(end.duration, same?.duration ?? 0) });
  }
}
