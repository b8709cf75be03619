import { andMore, GatewayError, type RequestProblem } from '#base/gateway-error.ts';

/** Else the error for a hostile request would be many times larger than the request. */
export const maxProblems = 100;

const none: readonly RequestProblem[] = [];

export interface ProblemList {
  readonly problems: readonly RequestProblem[];
  add(pointer: string, detail: string): void;
}

/** Ignores problems after the first `most`, and further ones of a place. */
export function createProblemList(most = maxProblems): ProblemList {
  return new FirstProblems(most);
}

/** A class: V8 takes a microsecond for an object literal with a getter, and every request makes two. */
class FirstProblems implements ProblemList {
  /** Most requests have none. */
  #problems: Map<string, RequestProblem> | undefined;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get problems(): readonly RequestProblem[] {
    return this.#problems === undefined ? none : [...this.#problems.values()];
  }

  add(pointer: string, detail: string): void {
    this.#problems ??= new Map();
    if (this.#problems.size < this.#most && !this.#problems.has(pointer)) this.#problems.set(pointer, { pointer, detail });
  }
}

/** With the text of the first problem. */
export function invalidRequest(problems: readonly RequestProblem[]): GatewayError {
  const [first] = problems;
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer;
  return new GatewayError('invalid-request', `${where} ${first?.detail ?? ''}${andMore(problems)}.`, { errors: problems });
}
