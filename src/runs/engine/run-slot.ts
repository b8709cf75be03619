import type { Effect } from '../interpreter/effects.ts';
import type { RunRelease } from '../journal/run-records.ts';
import { shortWait } from '../tasks/call-entrance.ts';
import type { RunTools } from './run-tools.ts';

/** Milliseconds of work after which a run gives its place back, where others are due. */
const maxTurnDuration = 5_000;

/** The place that a run has at a gateway. */
export class RunSlot {
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
    if (!this.#isOver && clock.monotonic() - this.#since >= maxTurnDuration && this.#isCrowded()) {
      this.#isOver = true;
      limitReached('places');
    }
    return this.#isOver;
  }

  /** How the store is to keep a run with nothing to do: undefined where it goes on too soon to give its place back. `later`: see RunWork. */
  restOf(
    effects: readonly Effect[],
    { later, ...rest }: Omit<RunRelease, 'wakeAt'> & { readonly later: number },
  ): RunRelease | undefined {
    const timer = effects.find((effect) => effect.kind === 'timer');
    const wakeAt = Math.min(timer?.at ?? Infinity, later);
    if (wakeAt - this.#tools.clock.now() <= (this.#isCrowded() ? 0 : shortWait)) return undefined;
    return { ...rest, wakeAt: wakeAt === Infinity ? undefined : wakeAt };
  }
}
