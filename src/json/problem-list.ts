import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';

/** A request is told all its problems at once, up to so many: a hostile one would have an answer made that is many times its own size. */
export const mostProblems = 100;

const none: readonly RequestProblem[] = [];

/** Collects what is wrong with a request, each place once. */
export interface ProblemList {
  readonly problems: readonly RequestProblem[];
  add(pointer: string, detail: string): void;
}

/** A list of at most `most`. */
export function createProblemList(most = mostProblems): ProblemList {
  return new FirstProblems(most);
}

/** A class, since every request makes two of them: V8 takes a microsecond for an object literal with a getter. */
class FirstProblems implements ProblemList {
  /** Made with the first one: most requests have none. */
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

/** 400 `invalid-request`, in the words of the first problem. */
export function invalidRequest(problems: readonly RequestProblem[]): GatewayError {
  const [first] = problems;
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more, see errors)` : '';
  return new GatewayError('invalid-request', `${where} ${first?.detail ?? ''}${more}.`, { errors: problems });
}
