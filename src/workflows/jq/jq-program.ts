import { cutText, maxTextLength } from '#base/text/cut-text.ts';

/** Bytes, as much as a run may hold. */
const maxResultSize = 8 * 1024 ** 2;

export const resultTooLong = `the result has more than ${maxResultSize / 1024 ** 2} MiB`;

/** Runs in the thread of jq, so that no long line reaches the event loop. A result that is too long becomes an error. */
export function withinLimits(stdout: string): string {
  if (stdout.length * 3 <= maxTextLength) return stdout;
  const lines = stdout.split('\n');
  for (let index = 0; index + 1 < lines.length; index += linesOfResult) {
    const [kind, value = ''] = [lines[index], lines[index + 1]];
    if (kind === lineOf.raised) lines[index + 1] = cutError(value);
    else if (value.length * 3 > maxResultSize && Buffer.byteLength(value) > maxResultSize)
      lines.splice(index, linesOfResult, lineOf.raised, JSON.stringify(resultTooLong));
  }
  return lines.join('\n');
}

function cutError(value: string): string {
  if (value.length * 3 <= maxTextLength) return value;
  const error: unknown = JSON.parse(value);
  return JSON.stringify(cutText(typeof error === 'string' ? error : `the expression raised ${value}`));
}

/** An expression must depend on its data alone: these reach the process, its streams, or further inputs. */
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

/** Holds the input while the others are bound. Variables of workflows must not begin with two underscores. */
const whole = '__gateway';

/** Input: `{ "dot": …, "variables": { name: … } }`. Each expression gives two lines: how it ended (`lineOf`), then result or error. */
export function evaluationProgram(expressions: readonly string[], variables: readonly string[]): string {
  const bound = variables.map((name) => `$${whole}.variables[${JSON.stringify(name)}] as $${name} | `).join('');
  const parts = expressions.map(
    // Two results are enough to see that there are several. The line break ends a comment.
    (expression) =>
      `(try ([limit(2; (${expression}\n))] | if length == 1 then 1, .[0] elif length == 0 then 0, null else 2, null end) catch (-1, .))`,
  );
  return `${closed}. as $${whole} | ${bound}.dot | null as $${whole} | ${parts.join(', ')}`;
}

export const linesOfResult = 2;

export const lineOf = { raised: '-1', noResult: '0', result: '1', severalResults: '2' } as const;

/** Both compile only where `expression` is one whole expression: the first alone allows an import, the second an unopened parenthesis. */
export function compilationPrograms(expression: string, variables: readonly string[]): readonly string[] {
  const known = variables.map((name) => `null as $${name} | `).join('');
  return [`${closed}${known}${expression}`, `${closed}${known}(${expression}\n)`];
}

/** Without jq's name and the position in our program. */
export function compileProblem(stderr: string): string {
  const first = /^jq: error: (.*?)(?: at <top-level>.*)?$/mu.exec(stderr)?.[1] ?? 'is no valid jq expression';
  return first.replace(/\s+/gu, ' ');
}
