import { isSemanticVersion } from '#base/semantic-version.ts';
import type { Located } from '#yaml/located.ts';
import { shown } from '#yaml/wording.ts';
import type { Expression, RunTask, Task } from '../workflow.ts';
import type { Context } from './context.ts';
import { checkUri } from './endpoints.ts';
import { expressionIn } from './jq-source.ts';
import { integerOf, listItems, membersOf, type ObjectMembers, onlyMember } from './members.ts';
import { isName } from './names.ts';
import { at, type Scope, within } from './scope.ts';
import { type BaseOf, directive, type Targets } from './task-base.ts';
import { condition, expression, lineExpression, nothing, template, textOrExpression } from './template.ts';
import { variablePair } from './variable-names.ts';

export function forTask(context: Context, members: ObjectMembers, node: Located, base: BaseOf, scope: Scope): Task {
  const { reading } = context;
  const loop = membersOf(reading, node, { wanted: 'an object with "in"', known: ['each', 'in', 'at'] });
  const list = loop.required('in', 'an expression that gives a list');
  const [each, index] = variablePair(reading, loop, ['each', 'at']);
  const inside = within(scope, [each, index]);
  const again = members.get('while');
  return {
    ...base,
    kind: 'for',
    each,
    at: index,
    in: list === undefined ? nothing : expression(context, list, at(scope, 'task')),
    ...(again === undefined ? {} : { while: condition(context, again, at(inside, 'task')) }),
    tasks: context.tasks(members.required('do', 'the tasks for each item'), inside),
  };
}

export function forkTask(context: Context, node: Located, base: BaseOf, scope: Scope): Task {
  const members = membersOf(context.reading, node, { wanted: 'an object with "branches"', known: ['branches', 'compete'] });
  const branches = context.branches(members.required('branches', 'the tasks to do at the same time'), scope);
  return { ...base, kind: 'fork', branches, compete: members.flag('compete') ?? false };
}

export function switchTask(context: Context, node: Located, base: BaseOf, scope: Scope, targets: Targets): Task {
  const { reading } = context;
  const names = new Set<string>();
  let hasDefault = false;
  const wanted = 'a list of cases, each "- NAME: { when, then }"';
  const items = listItems(reading, node, wanted);
  if (node.kind === 'array' && items.length === 0) reading.problem(node, 'needs at least one case');
  const cases = items.flatMap((item) => {
    const only = onlyMember(reading, item, 'one case');
    if (only === undefined) return [];
    if (names.has(only.name)) reading.problem(only.place, 'is the name of two cases; choose another one');
    names.add(only.name);
    const members = membersOf(reading, only.value, { wanted: 'an object with "then"', known: ['when', 'then'] });
    const [when, then] = [members.get('when'), members.required('then', 'the task that follows, or continue, exit or end')];
    if (when === undefined && hasDefault)
      reading.problem(only.place, 'has no "when", as another case; only one can be the default');
    if (when === undefined) hasDefault = true;
    return [
      {
        name: only.name,
        ...(when === undefined ? {} : { when: condition(context, when, at(scope, 'task')) }),
        // oxlint-disable-next-line unicorn/no-thenable -- the directive of a case is no promise
        then: then === undefined ? ('continue' as const) : directive(context, then, targets),
      },
    ];
  });
  return { ...base, kind: 'switch', cases };
}

export function setTask(context: Context, node: Located, base: BaseOf, scope: Scope): Task {
  const { reading } = context;
  const isExpression = node.kind === 'string' && (typeof expressionIn(node.value) === 'object' || context.loose !== undefined);
  if (node.kind !== 'object' && !isExpression) reading.wrongKind(node, 'an object, or an expression in ${ }');
  else if (node.kind === 'object' && node.members.length === 0)
    reading.problem(node, 'is empty; write the members of the new data');
  if (context.loose === undefined) warnOfPlainTexts(context, node);
  return { ...base, kind: 'set', value: template(context, node, at(scope, 'task')) };
}

/** Warns of texts in strict mode that look like a path of jq or a variable of the DSL. */
function warnOfPlainTexts(context: Context, node: Located): void {
  if (node.kind === 'array') for (const item of node.items) warnOfPlainTexts(context, item);
  else if (node.kind === 'object') for (const { value } of node.members) warnOfPlainTexts(context, value);
  else if (node.kind === 'string' && plainPath.test(node.value))
    context.reading.warning(node, `looks like an expression, and stays text; write \${ ${node.value.trim()} } for its value`);
}

const plainPath = /^\s*(?:\.[A-Za-z_]\w*|\.\[|\$(?:context|input|runtime|secrets|task|workflow)\b)[^\s]*\s*$/u;

export function raiseTask(context: Context, node: Located, base: BaseOf, scope: Scope): Task {
  const { reading, definitions } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "error"', known: ['error'] });
  const error = members.required('error', 'the error, or the name of one in use.errors');
  const found = error?.kind === 'string' ? definitions.find(reading, 'errors', error.value, error) : error;
  return { ...base, kind: 'raise', error: found === undefined ? nothing : errorDefinition(context, found, at(scope, 'task')) };
}

const errorMembers = ['type', 'status', 'title', 'detail', 'instance'] as const;

export function errorDefinition(context: Context, node: Located, scope: Scope): Expression {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "type" and "status"', known: errorMembers });
  if (node.kind !== 'object') return nothing;
  const type = members.required('type', 'the URI of the kind of error');
  if (type !== undefined) checkUri(context, type, scope, 'https://example.net/errors/not-ready');
  const status = members.required('status', 'an HTTP status, such as 400');
  if (status !== undefined) integerOf(reading, status, 0);
  const instance = members.get('instance');
  if (instance !== undefined) checkInstance(context, instance, scope);
  for (const name of ['title', 'detail'] as const) {
    const value = members.get(name);
    if (value !== undefined) textOrExpression(context, value, scope, 'text in quotes');
  }
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

export function runTask(context: Context, node: Located, base: BaseOf, scope: Scope): Task | undefined {
  const { reading } = context;
  const programs = { container: noPrograms, script: noPrograms, shell: noPrograms };
  const isProgram = node.kind === 'object' && node.members.some(({ name }) => Object.hasOwn(programs, name));
  const known = ['workflow', 'await', 'return'];
  const members = membersOf(reading, node, { wanted: 'an object with "workflow"', known, refused: programs });
  const returned = members.get('return');
  if (returned !== undefined && !isProgram) reading.warning(returned, 'has no effect here: it is for programs; remove it');
  const isAwaited = members.flag('await') ?? true;
  const workflow = isProgram
    ? members.get('workflow')
    : members.required('workflow', 'namespace, name and version of the workflow to run');
  return workflow === undefined ? undefined : { ...base, kind: 'run', ...target(context, workflow, scope), await: isAwaited };
}

function target(context: Context, node: Located, scope: Scope): Pick<RunTask, 'workflow' | 'version' | 'with'> {
  const { reading } = context;
  const wanted = 'an object with "namespace", "name" and "version"';
  const members = membersOf(reading, node, { wanted, known: ['namespace', 'name', 'version', 'input'] });
  const part = (name: string, isValid: (text: string) => boolean, form: string): string => {
    const value = members.required(name, form);
    const text = members.text(name, form);
    if (value !== undefined && text !== undefined && !isValid(text))
      reading.problem(value, `${shown(text)} is none; write ${form}`);
    return text ?? '';
  };
  const namespace = part('namespace', isName, 'the namespace of the workflow');
  const name = part('name', isName, 'the name of the workflow');
  const version = part('version', (text) => text === 'latest' || isSemanticVersion(text), 'a version such as 1.0.0, or latest');
  const input = members.get('input');
  if (input !== undefined && input.kind !== 'object') reading.wrongKind(input, 'an object');
  const given = input === undefined ? {} : { with: template(context, input, at(scope, 'task')) };
  return { workflow: `${namespace}.${name}`, version, ...given };
}
