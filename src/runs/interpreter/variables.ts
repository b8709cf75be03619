import type { TaskEvaluation } from './effects.ts';
import type { JsonValue } from './json-value.ts';
import type { Program } from './programs.ts';
import type { ActivityPlace } from './view.ts';

/** What exists only at some moments. `output` is the raw output. */
interface Moment {
  readonly input?: JsonValue;
  readonly output?: JsonValue;
}

export function evaluation(place: ActivityPlace, program: Program, dot: JsonValue, moment: Moment = {}): TaskEvaluation {
  return { expressions: program.expressions, dot: dot.text, ...bindings(place, program.names, moment) };
}

/** The variables that are mentioned and exist here. A variable of an outer task is hidden by one of an inner task. */
export function bindings(
  place: ActivityPlace,
  names: ReadonlySet<string>,
  moment: Moment = {},
): Pick<TaskEvaluation, 'variables' | 'usesSecrets'> {
  const variables: [string, string][] = [];
  for (const name of names) {
    const text = place.scope.variables.findLast((variable) => variable.name === name)?.text() ?? argument(name, place, moment);
    if (text !== undefined) variables.push([name, text]);
  }
  // Not an assignment for each: a variable may be named __proto__.
  return { variables: Object.fromEntries(variables), usesSecrets: names.has('secrets') };
}

/** The DSL's own arguments. Those of a task do not exist around the workflow itself. */
function argument(name: string, place: ActivityPlace, moment: Moment): string | undefined {
  const { run, activity } = place;
  switch (name) {
    case 'context':
      return activity.id === 0 && moment.output === undefined ? undefined : run.context.text;
    case 'input':
      return moment.input?.text;
    case 'task':
      return activity.id === 0 ? undefined : taskArgument(place, moment.output);
    case 'workflow':
      return workflowArgument(place);
    case 'runtime':
      return run.run.runtime.text;
    default:
      return undefined;
  }
}

function taskArgument({ task, activity }: ActivityPlace, output: JsonValue | undefined): string {
  return objectOf([
    ['name', JSON.stringify(task.name)],
    ['reference', JSON.stringify(task.reference)],
    ['definition', task.definition],
    ['input', activity.raw.text],
    ['output', output?.text],
    ['startedAt', timeArgument(activity.createdAt)],
  ]);
}

function workflowArgument({ run: { run, workflow } }: ActivityPlace): string {
  return objectOf([
    ['id', JSON.stringify(run.id)],
    ['definition', workflow.definition],
    ['input', run.input.text],
    ['startedAt', timeArgument(run.startedAt ?? run.createdAt)],
  ]);
}

function objectOf(members: readonly (readonly [name: string, text: string | undefined])[]): string {
  const written = members.filter(([, text]) => text !== undefined).map(([name, text]) => `"${name}":${text}`);
  return `{${written.join(',')}}`;
}

function timeArgument(at: number): string {
  const epoch = { seconds: Math.floor(at / 1_000), milliseconds: at };
  return JSON.stringify({ iso8601: new Date(at).toISOString(), epoch });
}
