import type { Effect } from './interpreter/effects.ts';
import type { RunRelease } from './run-records.ts';
import type { RunTools } from './run-tools.ts';

/** Milliseconds that a holder keeps a run which waits for a time. A longer wait is in the store alone. */
export const shortWait = 2_000;
/** Milliseconds of work after which a run gives its place back, where others are due. */
const longestTurn = 5_000;

/** The place that a run has at a gateway. */
export class HeldPlace {
  readonly #tools: Pick<RunTools, 'clock' | 'limitReached'>;
  /** Others may be due, and have no place here. */
  readonly #isCrowded: () => boolean;
  readonly #since: number;
  #isOver = false;

  constructor(tools: Pick<RunTools, 'clock' | 'limitReached'>, isCrowded: () => boolean) {
    this.#tools = tools;
    this.#isCrowded = isCrowded;
    this.#since = tools.clock.monotonic();
  }

  /** The run has had its turn: nothing begins, and the place goes back when no call is in flight. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Looks whether the turn is over, once in each round: what one round may begin, it begins. Once over, it stays over. */
  look(): boolean {
    const { clock, limitReached } = this.#tools;
    if (!this.#isOver && clock.monotonic() - this.#since >= longestTurn && this.#isCrowded()) {
      this.#isOver = true;
      limitReached('places');
    }
    return this.#isOver;
  }

  /** How the store is to keep a run with nothing to do: undefined where it goes on too soon to give its place back. */
  restOf(effects: readonly Effect[], scanned: number | undefined): RunRelease | undefined {
    const timer = effects.find((effect) => effect.kind === 'timer');
    const left = timer === undefined ? Infinity : timer.at - this.#tools.clock.now();
    return left <= (this.#isCrowded() ? 0 : shortWait) ? undefined : { wakeAt: timer?.at, scanned };
  }
}
