import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { LimitReached } from '#base/limits.ts';
import { ThreadPool, turnOf } from '../thread-pool.ts';
import { JqBatches, type JqEnd } from './jq-batches.ts';
import { compilationPrograms, compileProblem, evaluationProgram, lineOf, linesOfResult, resultTooLong } from './jq-program.ts';
import type { JqAnswer, JqRequest, JqWorkerData } from './jq-worker.ts';

export interface Evaluation {
  readonly expressions: readonly string[];
  /** `.` as JSON text. */
  readonly dot: string;
  /** JSON texts by name, without `$`. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whose turn it is. Absent: waits as long as it takes. */
  readonly person?: string | undefined;
}

/** One JSON text for each expression, or the first failure. */
export type Evaluated = { readonly results: readonly string[] } | { readonly failed: number; readonly detail: string };

/** jq 1.8 in threads, so that no expression blocks or ends the gateway. */
export interface ExpressionPool {
  /** A runaway expression is a result, no rejection. Rejects where the pool is closed, and with `overloaded` (503) after a long wait. */
  evaluate(evaluation: Evaluation): Promise<Evaluated>;
  /** Compiles the expression and does not run it. Undefined: no problem. */
  problemOf(expression: string, variables: readonly string[]): Promise<string | undefined>;
  close(): Promise<void>;
}

interface ExpressionPoolOptions {
  readonly threads: number;
  /** Milliseconds, without the wait for a thread. */
  readonly timeLimit?: number;
  /** Bytes of jq for one evaluation. */
  readonly memoryLimit?: number;
  readonly limitReached?: LimitReached;
}

const expressionLimits = { timeLimit: 1_000, memoryLimit: 64 * 1024 ** 2 } as const;

export function createExpressionPool({
  threads,
  timeLimit = expressionLimits.timeLimit,
  memoryLimit = expressionLimits.memoryLimit,
  limitReached,
}: ExpressionPoolOptions): ExpressionPool {
  let module: Promise<WebAssembly.Module> | undefined;
  const pool = new ThreadPool<JqRequest, JqAnswer>({
    name: 'the expression pool',
    file: new URL('./jq-worker.ts', import.meta.url),
    threads,
    timeLimit,
    memoryLimit: 256,
    data: async (): Promise<JqWorkerData> => ({ module: await (module ??= compiledJq()), memoryLimit }),
    // The memory of jq only grows. The next program gets all of its limit.
    keeps: (answer) => !('aborted' in answer) && answer.memory <= memoryLimit / 2,
  });
  const run = async (request: () => JqRequest, person?: string): Promise<JqEnd> => {
    const end = await pool.run(request, turnOf(person, limitReached));
    if (end.kind === 'answered' && !('aborted' in end.answer)) return { kind: 'ended', ...end.answer };
    const memory = `the expression could not be evaluated within ${memoryLimit / 1024 ** 2} MiB of memory`;
    return { kind: 'failed', detail: end.kind === 'late' ? `the expression took longer than ${timeLimit} ms` : memory };
  };
  const batches = new JqBatches(run);
  return {
    async evaluate({ expressions, dot, variables, person }) {
      const names = Object.keys(variables);
      const members = names.map((name) => `${JSON.stringify(name)}:${variables[name]}`);
      const input = `{"dot":${dot},"variables":{${members.join(',')}}}`;
      const answer = await batches.run({
        program: evaluationProgram(expressions, names),
        input: withoutLoneSurrogates(input),
        lines: linesOfResult * expressions.length,
        person,
      });
      const evaluated = answer.kind === 'ended' ? readLines(answer, expressions.length) : { failed: 0, detail: answer.detail };
      if ('failed' in evaluated && evaluated.detail === resultTooLong) limitReached?.('expression-output');
      return evaluated;
    },
    async problemOf(expression, variables) {
      for (const program of compilationPrograms(expression, variables)) {
        const answer = await run(() => ({ program, input: '' }));
        if (answer.kind !== 'ended') return answer.detail;
        if (answer.exitCode !== 0) return compileProblem(answer.stderr);
      }
      return undefined;
    },
    close: () => pool.close(),
  };
}

async function compiledJq(): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve('jq-wasm/jq.wasm'))));
}

/** jq refuses a high surrogate alone, which a device may send; a low one becomes U+FFFD, so this does too. */
function withoutLoneSurrogates(text: string): string {
  if (!/\\u[dD][89abAB]/u.test(text)) return text;
  return text.replace(/\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89abAB]..|\\./gu, (escape) =>
    /^\\u[dD][89abAB]..$/u.test(escape) ? '\\ufffd' : escape,
  );
}

function readLines({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }, expected: number): Evaluated {
  const lines = stdout.split('\n');
  const results: string[] = [];
  for (let index = 0; index < expected; index += 1) {
    const ended = lines[linesOfResult * index];
    const value = lines[linesOfResult * index + 1];
    if (ended !== lineOf.result || value === undefined) return { failed: index, detail: whyNoResult(ended, value, stderr) };
    results.push(value);
  }
  return { results };
}

function whyNoResult(ended: string | undefined, value: string | undefined, stderr: string): string {
  if (ended === lineOf.noResult) return 'the expression gives no result; it must give exactly one';
  if (ended === lineOf.severalResults) return 'the expression gives more than one result; it must give exactly one';
  if (ended === lineOf.raised && value !== undefined) return raised(value);
  return stderr === '' ? 'the expression ended without a result' : compileProblem(stderr);
}

function raised(value: string): string {
  const error: unknown = JSON.parse(value);
  if (error === null) return 'the expression raised an error without a message';
  return typeof error === 'string' ? error : `the expression raised ${value}`;
}
