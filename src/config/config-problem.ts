/** One fault of a configuration file: where it is (1-based line and column, key path; an empty path is the file as a whole) and what to do about it. */
export interface ConfigProblem {
  /** As the operator named it. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  /** Holds no secret's value. */
  readonly message: string;
}

/** One line of text in the form that editors and compilers understand: `gateway.yaml:12:5: adapters[0].url: is missing`. */
export function formatConfigProblem({ file, line, column, path, message }: ConfigProblem): string {
  const where = `${file}:${line}:${column}`;
  return path === '' ? `${where}: ${message}` : `${where}: ${path}: ${message}`;
}

/** Thrown where a configuration cannot be used: every problem at once, in the order of the file; `message` is one line for each. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[], warnings: readonly ConfigProblem[] = []) {
    super(problems.map(formatConfigProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.warnings = warnings;
  }
}
