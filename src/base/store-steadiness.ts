import type { Clock } from './clock.ts';

/** Milliseconds for which a gateway counts as alive, and a run belongs to it, without a renewal in the store. */
export const usualLease = 10_000;
/** Milliseconds between two writes of a gateway that says that it is alive. */
export const beatInterval = 3_000;
/** Milliseconds without a write that the store took: it may have been away for so long that living gateways lost a lease. */
const gap = 5_000;

/**
 * Whether the store has taken writes for a whole lease. Only then has a gateway ended whose lease has ended: after an outage the living ones
 * have that time to renew theirs.
 */
export class StoreSteadiness {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #isShared: boolean;
  #since = Infinity;
  #last = -Infinity;

  constructor(clock: Pick<Clock, 'monotonic'>, { dialect }: { readonly dialect: 'sqlite' | 'postgres' }) {
    this.#clock = clock;
    // One gateway has the file of SQLite: each other one has ended.
    this.#isShared = dialect === 'postgres';
  }

  /** The store has just taken a write. */
  wrote(): void {
    const now = this.#clock.monotonic();
    if (now - this.#last > gap) this.#since = now;
    this.#last = now;
  }

  get isSteady(): boolean {
    if (!this.#isShared) return true;
    const now = this.#clock.monotonic();
    return now - this.#last <= gap && now - this.#since >= usualLease;
  }
}
