import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';

/**
 * An error lists at most this many problems. Without a limit, the error for a hostile request would be many times larger than the
 * request.
 */
export const mostProblems = 100;

const none: readonly RequestProblem[] = [];

/** Collects the problems of a request, at most one for each place. */
export interface ProblemList {
  readonly problems: readonly RequestProblem[];
  add(pointer: string, detail: string): void;
}

/** A list that ignores problems after the first `most`. */
export function createProblemList(most = mostProblems): ProblemList {
  return new FirstProblems(most);
}

/** A class, because every request makes two of them: an object literal with a getter takes V8 a microsecond. */
class FirstProblems implements ProblemList {
  /** Created with the first problem, because most requests have none. */
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

/** 400 `invalid-request` with the text of the first problem. */
export function invalidRequest(problems: readonly RequestProblem[]): GatewayError {
  const [first] = problems;
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more, see errors)` : '';
  return new GatewayError('invalid-request', `${where} ${first?.detail ?? ''}${more}.`, { errors: problems });
}
