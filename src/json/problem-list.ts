import type { RequestProblem } from '#base/gateway-error.ts';

const mostProblems = 100;

const none: readonly RequestProblem[] = [];

/** Collects what is wrong with a request, each place once. */
export interface ProblemList {
  readonly problems: readonly RequestProblem[];
  add(pointer: string, detail: string): void;
}

/** A list of at most 100 problems, so that a hostile body cannot have an answer made that is many times its own size. */
export function createProblemList(): ProblemList {
  return new FirstProblems();
}

/** A class, since every request makes two of them: V8 takes a microsecond for an object literal with a getter. */
class FirstProblems implements ProblemList {
  /** Made with the first one: most requests have none. */
  #problems: Map<string, RequestProblem> | undefined;

  get problems(): readonly RequestProblem[] {
    return this.#problems === undefined ? none : [...this.#problems.values()];
  }

  add(pointer: string, detail: string): void {
    this.#problems ??= new Map();
    if (this.#problems.size < mostProblems && !this.#problems.has(pointer)) this.#problems.set(pointer, { pointer, detail });
  }
}
