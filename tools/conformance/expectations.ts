import { isDeepStrictEqual } from 'node:util';
import type { Expectation } from './kit.ts';

/** What came of a run, as the gateway answers it. */
export interface RunResult {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: Readonly<Record<string, unknown>>;
  /** Names of tasks in the order of their begin. */
  readonly tasks: readonly { readonly name: string; readonly status: string }[];
}

type Check = (run: RunResult, match: RegExpExecArray, value: unknown) => string | undefined;

/** Each step of the kit, and what is wrong with a run that does not satisfy it. */
const checks: readonly (readonly [RegExp, Check])[] = [
  [/^the workflow should complete(?: with output:)?$/u, completes],
  [/^the workflow should fault(?: with error:)?$/u, faults],
  [/^the workflow should cancel$/u, ({ status }) => unless(status === 'cancelled', `the run is ${status}`)],
  [/^the workflow output should have properties (.+)$/u, hasProperties],
  [/^the workflow output should have an? '(.+)' property with value:$/u, hasValue],
  [/^the workflow output should have an? '(.+)' property containing (\d+) items$/u, hasItems],
  [/^(\S+) should run first$/u, ({ tasks }, [, name]) => unless(ended(tasks)[0] === name, `${ended(tasks)[0]} ran first`)],
  [/^(\S+) should run last$/u, ({ tasks }, [, name]) => unless(ended(tasks).at(-1) === name, `${ended(tasks).at(-1)} ran last`)],
  [/^(\S+) should run (before|after) (\S+)$/u, inOrder],
  [/^(\S+) should (cancel|complete|fault)$/u, endsAs],
];

/** What is wrong with the run; undefined where it satisfies the expectation. Throws where the step is not known. */
export function problemOf(run: RunResult, { text, value }: Expectation): string | undefined {
  for (const [pattern, check] of checks) {
    const match = pattern.exec(text);
    if (match !== null) return check(run, match, value);
  }
  throw new Error(`The kit has a step that this tool does not know: ${text}`);
}

function unless(holds: boolean, problem: string): string | undefined {
  return holds ? undefined : problem;
}

function completes({ status, output, error }: RunResult, [text]: RegExpExecArray, value: unknown): string | undefined {
  if (status !== 'completed') return `the run is ${status}: ${JSON.stringify(error)}`;
  if (!text.endsWith(':')) return undefined;
  return unless(isDeepStrictEqual(output, value), `the output is ${JSON.stringify(output)}, not ${JSON.stringify(value)}`);
}

function faults({ status, output, error = {} }: RunResult, _match: RegExpExecArray, value: unknown): string | undefined {
  if (status !== 'faulted') return `the run is ${status}: ${JSON.stringify(output)}`;
  const wrong = Object.entries(value ?? {}).filter(([name, wanted]) => !isDeepStrictEqual(error[name], wanted));
  return unless(wrong.length === 0, `the error is ${JSON.stringify(error)}`);
}

function hasProperties({ output }: RunResult, [, list = '']: RegExpExecArray): string | undefined {
  const missing = [...list.matchAll(/'([^']+)'/gu)].map(([, path = '']) => path).filter((path) => at(output, path) === undefined);
  return unless(missing.length === 0, `the output ${JSON.stringify(output)} does not have ${missing.join(', ')}`);
}

function hasValue({ output }: RunResult, [, path = '']: RegExpExecArray, value: unknown): string | undefined {
  const found = at(output, path);
  return unless(isDeepStrictEqual(found, value), `${path} is ${JSON.stringify(found)}, not ${JSON.stringify(value)}`);
}

function hasItems({ output }: RunResult, [, path = '', count]: RegExpExecArray): string | undefined {
  const found = at(output, path);
  return unless(Array.isArray(found) && found.length === Number(count), `${path} is ${JSON.stringify(found)}`);
}

function inOrder({ tasks }: RunResult, [, name = '', order, other = '']: RegExpExecArray): string | undefined {
  const [own, others] = [ended(tasks).indexOf(name), ended(tasks).indexOf(other)];
  const holds = own !== -1 && others !== -1 && (order === 'after' ? own > others : own < others);
  return unless(holds, `the tasks ran as ${ended(tasks).join(', ')}`);
}

function endsAs({ tasks }: RunResult, [, name, verb]: RegExpExecArray): string | undefined {
  const wanted = { cancel: 'cancelled', complete: 'completed', fault: 'faulted' }[verb ?? ''];
  return unless(
    tasks.some((task) => task.name === name && task.status === wanted),
    `the tasks are ${JSON.stringify(tasks)}`,
  );
}

function ended(tasks: RunResult['tasks']): readonly string[] {
  return tasks.filter(({ status }) => status !== 'skipped').map(({ name }) => name);
}

/** The member that a path such as `error.type` names. */
function at(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split('.')) found = (found as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return found;
}
