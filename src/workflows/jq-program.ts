/**
 * Functions of jq that reach past the data of an expression: the process, its standard streams, further inputs. Each is redefined, since an
 * expression must depend on its data alone.
 */
const unavailable = [
  'debug',
  'get_search_list',
  'halt',
  'halt_error',
  'input',
  'input_filename',
  'input_line_number',
  'inputs',
  'stderr',
];

const closed = [
  'def env: {};',
  ...unavailable.map((name) => `def ${name}: error("${name} is not available in an expression");`),
  ...['debug', 'halt_error'].map((name) => `def ${name}(f): error("${name} is not available in an expression");`),
  '{} as $ENV | ',
].join(' ');

/** The variable that holds the whole input while a program binds the others. Variables of workflows must not begin with two underscores. */
const whole = '__gateway';

/**
 * The program that evaluates `expressions` on the input `{ "dot": …, "variables": { name: … } }`. Each expression gives two lines: how it ended
 * (`lineOf`), then its result or the error that it raised.
 */
export function evaluationProgram(expressions: readonly string[], variables: readonly string[]): string {
  const bound = variables.map((name) => `$${whole}.variables[${JSON.stringify(name)}] as $${name} | `).join('');
  const parts = expressions.map(
    // Two results are enough to see that there are several. A comment at the end of an expression ends with its line.
    (expression) =>
      `(try ([limit(2; (${expression}\n))] | if length == 1 then 1, .[0] elif length == 0 then 0, null else 2, null end) catch (-1, .))`,
  );
  return `${closed}. as $${whole} | ${bound}.dot | null as $${whole} | ${parts.join(', ')}`;
}

/** Lines that each expression gives. */
export const linesOfResult = 2;

export const lineOf = { raised: '-1', noResult: '0', result: '1', severalResults: '2' } as const;

/**
 * Programs that both compile exactly where `expression` is one whole expression that uses no other variables. Only the first would let it
 * import a module, only the second would let it close a parenthesis that it did not open.
 */
export function compilationPrograms(expression: string, variables: readonly string[]): readonly string[] {
  const known = variables.map((name) => `null as $${name} | `).join('');
  return [`${closed}${known}${expression}`, `${closed}${known}(${expression}\n)`];
}

/** The message of a program that does not compile, without jq's own name and the position in our program. */
export function compileProblem(stderr: string): string {
  const first = /^jq: error: (.*?)(?: at <top-level>.*)?$/mu.exec(stderr)?.[1] ?? 'is no valid jq expression';
  return first.replace(/\s+/gu, ' ');
}
