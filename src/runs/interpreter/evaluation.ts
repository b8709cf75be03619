import type { Effect, TaskEvaluation } from './effects.ts';
import type { Program } from './programs.ts';
import { JsonValue } from './state/json-value.ts';
import type { ActivityLocation } from './state/view.ts';
import type { EffectError } from './task-error.ts';
import { expressionError, type StepEvent, type Turn } from './turn.ts';

/** What exists only at some moments. `output` is the raw output. */
interface Moment {
  readonly input?: JsonValue;
  readonly output?: JsonValue;
}

export function evaluation(place: ActivityLocation, program: Program, dot: JsonValue, moment: Moment = {}): TaskEvaluation {
  return { expressions: program.expressions, dot: dot.text, ...bindings(place, program.names, moment) };
}

export function evaluate(...args: Parameters<typeof evaluation>): (key: string) => Effect {
  return (key) => ({ kind: 'evaluate', key, ...evaluation(...args) });
}

/** The results of an evaluation. Undefined: the event is not for it. */
export function readEvaluated(
  run: Turn,
  wait: number | undefined,
  program: Program,
  event: StepEvent,
): { readonly values: readonly JsonValue[] } | { readonly error: EffectError } | undefined {
  if (wait === undefined || run.target !== wait) return undefined;
  if (event.kind === 'failed') return { error: event.error };
  if (event.kind !== 'evaluated') return undefined;
  const { outcome } = event;
  if ('results' in outcome) return { values: outcome.results.map((text) => new JsonValue(text)) };
  return { error: expressionError(program.labels[outcome.failed] ?? 'expression', outcome.detail) };
}

/** The variables that are mentioned and exist here. A variable of an outer task is hidden by one of an inner task. */
export function bindings(
  place: ActivityLocation,
  names: ReadonlySet<string>,
  moment: Moment = {},
): Pick<TaskEvaluation, 'variables' | 'usesSecrets'> {
  const variables: [string, string][] = [];
  for (const name of names) {
    const variable = place.scope.variables.findLast((one) => one.name === name);
    const text = variable === undefined ? dslArguments.get(name)?.(place, moment) : variable.text();
    if (text !== undefined) variables.push([name, text]);
  }
  // Not an assignment for each: a variable may be named __proto__.
  return { variables: Object.fromEntries(variables), usesSecrets: names.has('secrets') };
}

/** The DSL's own arguments. Those of a task do not exist around the workflow itself. */
const dslArguments = new Map<string, (place: ActivityLocation, moment: Moment) => string | undefined>([
  ['context', ({ run, activity }, { output }) => (activity.id === 0 && output === undefined ? undefined : run.context.text)],
  ['input', (_place, { input }) => input?.text],
  [
    'task',
    ({ task, activity }, { output }) =>
      activity.id === 0
        ? undefined
        : objectOf({
            name: JSON.stringify(task.name),
            reference: JSON.stringify(task.reference),
            definition: task.definition,
            input: activity.raw.text,
            output: output?.text,
            startedAt: timeArgument(activity.createdAt),
          }),
  ],
  [
    'workflow',
    ({ run: { run, workflow } }) =>
      objectOf({
        id: JSON.stringify(run.id),
        definition: workflow.definition,
        input: run.input.text,
        startedAt: timeArgument(run.startedAt ?? run.createdAt),
      }),
  ],
  ['runtime', ({ run: { run } }) => run.runtime.text],
]);

function objectOf(members: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${written.map(([name, text]) => `"${name}":${text}`).join(',')}}`;
}

function timeArgument(at: number): string {
  const epoch = { seconds: Math.floor(at / 1_000), milliseconds: at };
  return JSON.stringify({ iso8601: new Date(at).toISOString(), epoch });
}
