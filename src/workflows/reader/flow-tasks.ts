import { defined } from '#base/text/defined.ts';
import { isSemanticVersion } from '#base/text/semantic-version.ts';
import { integerOf, listItems, membersOf, type ObjectMembers, onlyMember } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import type { Expression, RunTask, Task } from '../workflow.ts';
import { checkUri } from './calls/endpoints.ts';
import { at, type Context, isName, type Scope, variablePair, within } from './context.ts';
import { expressionIn } from './jq-source.ts';
import { caseMembers, errorMembers, memberNames, taskKindMembers } from './member-table.ts';
import { directive, type RecognizedTask } from './task-base.ts';
import { condition, expression, lineExpression, nothing, template, textOrExpression } from './template.ts';

export function readFor({ context, members, node, base, scope }: RecognizedTask): Task {
  const { reading } = context;
  const loop = membersOf(reading, node, { wanted: 'an object with "in"', known: memberNames(taskKindMembers.for.for) });
  const [each, index] = variablePair(reading, loop, ['each', 'at']);
  const inside = within(scope, [each, index]);
  const list = loop.readRequired('in', 'an expression that gives a list', (given) =>
    expression(context, given, at(scope, 'task')),
  );
  return defined({
    ...base,
    kind: 'for',
    each,
    at: index,
    in: list ?? nothing,
    while: members.read('while', (given) => condition(context, given, at(inside, 'task'))),
    tasks: context.tasks(members.required('do', 'the tasks for each item'), inside),
  });
}

export function readFork({ context, node, base, scope }: RecognizedTask): Task {
  const members = membersOf(context.reading, node, {
    wanted: 'an object with "branches"',
    known: memberNames(taskKindMembers.fork.fork),
  });
  const branches = context.branches(members.required('branches', 'the tasks to do at the same time'), scope);
  return { ...base, kind: 'fork', branches, compete: members.flag('compete') ?? false };
}

export function readSwitch({ context, node, base, scope, targets }: RecognizedTask): Task {
  const { reading } = context;
  const names = new Set<string>();
  let hasDefault = false;
  const items = listItems(reading, node, 'a list of cases, each "- NAME: { when, then }"');
  if (node.kind === 'array' && items.length === 0) reading.problem(node, 'needs at least one case');
  const cases = items.flatMap((item) => {
    const only = onlyMember(reading, item, 'one case');
    if (only === undefined) return [];
    const { name, place, value } = only;
    if (names.has(name)) reading.problem(place, 'is the name of two cases; choose another one');
    names.add(name);
    const members = membersOf(reading, value, { wanted: 'an object with "then"', known: memberNames(caseMembers) });
    const isDefault = members.get('when') === undefined;
    if (isDefault && hasDefault) reading.problem(place, 'has no "when", as another case; only one can be the default');
    hasDefault ||= isDefault;
    const meaning = 'the task that follows, or continue, exit or end';
    return defined({
      name,
      when: members.read('when', (given) => condition(context, given, at(scope, 'task'))),
      // oxlint-disable-next-line unicorn/no-thenable -- the directive of a case is no promise
      then: members.readRequired('then', meaning, (given) => directive(context, given, targets)) ?? 'continue',
    });
  });
  return { ...base, kind: 'switch', cases };
}

export function readSet({ context, node, base, scope }: RecognizedTask): Task {
  const { reading, loose } = context;
  const isExpression = node.kind === 'string' && (typeof expressionIn(node.value) === 'object' || loose !== undefined);
  if (node.kind !== 'object' && !isExpression) reading.wrongKind(node, 'an object, or an expression in ${ }');
  else if (node.kind === 'object' && node.members.length === 0)
    reading.problem(node, 'is empty; write the members of the new data');
  if (loose === undefined) warnOfPlainTexts(context, node);
  return { ...base, kind: 'set', value: template(context, node, at(scope, 'task')) };
}

/** Texts that look like a path of jq or a variable of the DSL. */
function warnOfPlainTexts(context: Context, node: Located): void {
  if (node.kind === 'array') for (const item of node.items) warnOfPlainTexts(context, item);
  else if (node.kind === 'object') for (const { value } of node.members) warnOfPlainTexts(context, value);
  else if (node.kind === 'string' && plainPath.test(node.value))
    context.reading.warning(node, `looks like an expression, and stays text; write \${ ${node.value.trim()} } for its value`);
}

const plainPath = /^\s*(?:\.[A-Za-z_]\w*|\.\[|\$(?:context|input|runtime|secrets|task|workflow)\b)[^\s]*\s*$/u;

export function readRaise({ context, node, base, scope }: RecognizedTask): Task {
  const { reading, definitions } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "error"', known: memberNames(taskKindMembers.raise.raise) });
  const error = members.required('error', 'the error, or the name of one in use.errors');
  const found = error?.kind === 'string' ? definitions.find(reading, 'errors', error.value, error) : error;
  return { ...base, kind: 'raise', error: found === undefined ? nothing : errorDefinition(context, found, at(scope, 'task')) };
}

export function errorDefinition(context: Context, node: Located, scope: Scope): Expression {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "type" and "status"', known: memberNames(errorMembers) });
  if (node.kind !== 'object') return nothing;
  members.readRequired('type', 'the URI of the kind of error', (type) =>
    checkUri(context, type, scope, 'https://example.net/errors/not-ready'),
  );
  members.readRequired('status', 'an HTTP status, such as 400', (status) => integerOf(reading, status, 0));
  members.read('instance', (instance) => checkInstance(context, instance, scope));
  for (const name of ['title', 'detail']) members.read(name, (text) => textOrExpression(context, text, scope, 'text in quotes'));
  return template(context, node, scope);
}

function checkInstance(context: Context, node: Located, scope: Scope): void {
  if (lineExpression(context, node, scope) !== undefined) return;
  if (node.kind !== 'string') context.reading.wrongKind(node, 'a JSON pointer');
  else if (!/^(?:\/(?:[^~/]|~[01])*)*$/u.test(node.value))
    context.reading.problem(node, 'is no JSON pointer; write one such as /do/0/task');
}

const noPrograms =
  'is not supported: the gateway runs no programs on its machine; call a service instead (call: http, or an orchestrator call)';
const programs = { container: noPrograms, script: noPrograms, shell: noPrograms };

export function readRunTask({ context, node, base, scope }: RecognizedTask): Task | undefined {
  const { reading } = context;
  const isProgram = node.kind === 'object' && node.members.some(({ name }) => Object.hasOwn(programs, name));
  const known = memberNames(taskKindMembers.run.run);
  const members = membersOf(reading, node, { wanted: 'an object with "workflow"', known, refused: programs });
  const returned = members.get('return');
  if (returned !== undefined && !isProgram) reading.warning(returned, 'has no effect here: it is for programs; remove it');
  const isAwaited = members.flag('await') ?? true;
  const workflow = isProgram
    ? members.get('workflow')
    : members.required('workflow', 'namespace, name and version of the workflow to run');
  return workflow && { ...base, kind: 'run', ...readTarget(context, workflow, scope), await: isAwaited };
}

function readTarget(context: Context, node: Located, scope: Scope): Pick<RunTask, 'workflow' | 'version' | 'with'> {
  const members = membersOf(context.reading, node, {
    wanted: workflowNaming,
    known: memberNames(taskKindMembers.run.run.workflow),
  });
  members.checkObject('input');
  const given = members.read('input', (input) => template(context, input, at(scope, 'task')));
  const isVersion = (text: string): boolean => text === 'latest' || isSemanticVersion(text);
  return defined({ ...readWorkflowName(members, { isVersion, form: 'a version such as 1.0.0, or latest' }), with: given });
}

export const workflowNaming = 'an object with "namespace", "name" and "version"';

/** The workflow that a task runs. `form`: of its version. */
export function readWorkflowName(
  members: ObjectMembers,
  { isVersion, form }: { readonly isVersion: (text: string) => boolean; readonly form: string },
): Pick<RunTask, 'workflow' | 'version'> {
  const namespace = members.validText('namespace', isName, 'the namespace of the workflow');
  const name = members.validText('name', isName, 'the name of the workflow');
  return { workflow: `${namespace}.${name}`, version: members.validText('version', isVersion, form) };
}
