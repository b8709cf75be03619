import { timedOut } from './call-scope.ts';

type Phase = 'firstByte' | 'idle';

/** The time limits on the silence of a far side, one at a time. */
export class Silence {
  readonly #passed: (reason: Error) => void;
  #timer: NodeJS.Timeout | undefined;
  #phase: Phase | undefined;
  /** Counts the signs of life. */
  #heard = 0;

  /** `passed` is called with 504 `upstream-timeout` when a limit passes. */
  constructor(passed: (reason: Error) => void) {
    this.#passed = passed;
  }

  /** Starts a limit in milliseconds, 0 for none. It replaces the one before. */
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
      // If the gateway itself was busy, bytes that arrived meanwhile are read first.
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
