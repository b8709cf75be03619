import { timedOut } from './call-scope.ts';

type Phase = 'firstByte' | 'idle';

/** The limits on how long a far side says nothing, one at a time. */
export class Silence {
  readonly #passed: (reason: Error) => void;
  #timer: NodeJS.Timeout | undefined;
  #phase: Phase | undefined;
  /** Counts what was heard. */
  #heard = 0;

  /** `passed` is called with 504 `upstream-timeout` once a limit is passed. */
  constructor(passed: (reason: Error) => void) {
    this.#passed = passed;
  }

  /** From now on until it is set again, in milliseconds, 0 for none; takes the place of the one before. */
  limit(phase: Phase, milliseconds: number): void {
    if (this.#timer !== undefined && phase === this.#phase) {
      this.#heard += 1;
      this.#timer.refresh();
      return;
    }
    this.end();
    if (milliseconds === 0) return;
    this.#phase = phase;
    this.#timer = setTimeout(() => {
      const heard = this.#heard;
      // Where the gateway itself was busy, what came meanwhile is read first.
      setImmediate(() => {
        if (heard === this.#heard) this.#passed(timedOut(phase, milliseconds));
      });
    }, milliseconds);
  }

  end(): void {
    this.#heard += 1;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
