/** One problem of a configuration file. Line and column begin at 1. An empty `path` means the whole file. */
export interface ConfigProblem {
  /** The file name as the operator wrote it. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  /** Says what to do. Never holds the value of a secret. */
  readonly message: string;
}

/** One line in the format of compilers, which editors understand: `gateway.yaml:12:5: adapters[0].url: is missing`. */
export function formatConfigProblem({ file, line, column, path, message }: ConfigProblem): string {
  const where = `${file}:${line}:${column}`;
  return path === '' ? `${where}: ${message}` : `${where}: ${path}: ${message}`;
}

/** Thrown for an invalid configuration, with every problem in the order of the file. `message` has one line for each. */
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
