import type { RequestProblem } from '#base/gateway-error.ts';

const mostProblems = 100;

/** Collects what is wrong with a request, each place once. */
export interface ProblemList {
  readonly problems: readonly RequestProblem[];
  add(pointer: string, detail: string): void;
}

/** A list of at most 100 problems, so that a hostile body cannot have an answer made that is many times its own size. */
export function createProblemList(): ProblemList {
  const problems = new Map<string, RequestProblem>();
  return {
    get problems() {
      return [...problems.values()];
    },
    add(pointer, detail) {
      if (problems.size < mostProblems && !problems.has(pointer)) problems.set(pointer, { pointer, detail });
    },
  };
}
