import type { Located } from '#yaml/located.ts';
import type { CallSite } from '../call-sites.ts';
import { operationsOf } from '../operations.ts';
import { type Catch, type Expression, outcomeUnknown, type Retry, type Task, type TryTask } from '../workflow.ts';
import type { Context } from './context.ts';
import { readDuration } from './durations.ts';
import { expressionIn } from './jq-source.ts';
import { integerOf, membersOf, type ObjectMembers, readText } from './members.ts';
import { at, type Scope, within } from './scope.ts';
import type { BaseOf } from './task-base.ts';
import { condition } from './template.ts';
import { variableName } from './variable-names.ts';

/** `try` with its `catch`. */
export function tryTask(context: Context, members: ObjectMembers, node: Located, base: BaseOf, scope: Scope): Task {
  const clause = members.required('catch', 'what happens with errors; {} catches all of them');
  const tasks = context.tasks(node, scope);
  if (clause === undefined) return { ...base, kind: 'try', tasks, catch: { as: 'error' } };
  const handling = readCatch(context, clause, scope);
  warnOfChanges(context, clause, { tasks, catch: handling });
  return { ...base, kind: 'try', tasks, catch: handling };
}

/** Warns where errors of a change are caught: an unknown outcome is left to people, and a retry makes the change again. */
function warnOfChanges(
  { reading }: Context,
  clause: Located,
  { tasks, catch: handling }: Pick<TryTask, 'tasks' | 'catch'>,
): void {
  if (!operationsOf({ tasks, input: {}, output: {} }).calls.some(isChange)) return;
  // A filter that names another type does not look as if it caught it.
  if (handling.errors?.type === undefined)
    reading.warning(
      clause,
      `does not catch the unknown outcome of a change: the run waits for a decision; errors.with.type "${outcomeUnknown}" catches it`,
    );
  if (handling.retry !== undefined)
    reading.warning(
      clause,
      'has a retry around a change, which may then leave more than once; say in "when" which errors are safe',
    );
}

/** Whether the document itself says that the call changes something. */
function isChange({ function: name, method, repeatable }: CallSite): boolean {
  return (
    (name === 'orchestratorAction' && repeatable !== true) ||
    (method !== undefined && !['GET', 'HEAD', 'OPTIONS'].includes(method))
  );
}

const catchMembers = ['errors', 'as', 'when', 'exceptWhen', 'retry', 'do'] as const;

function readCatch(context: Context, node: Located, scope: Scope): Catch {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object, such as {} to catch all errors', known: catchMembers });
  const as = variableName(reading, members, 'as', 'error');
  const inside = within(scope, [as]);
  const [errors, retry, tasks] = [members.get('errors'), members.get('retry'), members.get('do')];
  return {
    ...(errors === undefined ? {} : { errors: errorFilter(context, errors) }),
    as,
    ...conditions(context, members, inside),
    ...(retry === undefined ? {} : { retry: retryOrName(context, retry, inside) }),
    ...(tasks === undefined ? {} : { tasks: context.tasks(tasks, inside) }),
  };
}

function conditions(
  context: Context,
  members: ObjectMembers,
  scope: Scope,
): { readonly when?: Expression; readonly exceptWhen?: Expression } {
  const [when, exceptWhen] = [members.get('when'), members.get('exceptWhen')];
  const inside = at(scope, 'task');
  return {
    ...(when === undefined ? {} : { when: condition(context, when, inside) }),
    ...(exceptWhen === undefined ? {} : { exceptWhen: condition(context, exceptWhen, inside) }),
  };
}

function errorFilter({ reading }: Context, node: Located): NonNullable<Catch['errors']> {
  const members = membersOf(reading, node, { wanted: 'an object with "with"', known: ['with'] });
  const filter = members.get('with');
  if (filter === undefined) return {};
  const known = ['type', 'status', 'instance', 'title', 'details', 'detail'] as const;
  const found = membersOf(reading, filter, { wanted: 'an object with the members that an error must have', known });
  if (filter.kind === 'object' && filter.members.length === 0)
    reading.problem(filter, 'is empty; remove "errors" to catch all errors');
  const constant = (name: (typeof known)[number]): string | undefined => {
    const value = found.get(name);
    const text = value === undefined ? undefined : readText(reading, value, 'text');
    if (value !== undefined && text !== undefined && typeof expressionIn(text) === 'object')
      reading.problem(value, 'must be a constant here; put the expression into "when"');
    return text;
  };
  const status = found.get('status');
  const detail = constant('details') ?? constant('detail');
  return defined({
    type: constant('type'),
    status: status === undefined ? undefined : integerOf(reading, status, 0),
    instance: constant('instance'),
    title: constant('title'),
    detail,
  });
}

/** The members that are not undefined. */
function defined<T extends object>(value: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

const noRetry: Retry = { backoff: 'constant', limit: {} };

function retryOrName(context: Context, node: Located, scope: Scope): Retry {
  if (node.kind !== 'string') return retryPolicy(context, node, scope);
  const found = context.definitions.find(context.reading, 'retries', node.value, node);
  return found === undefined ? noRetry : retryPolicy(context, found, scope);
}

const retryMembers = ['when', 'exceptWhen', 'delay', 'backoff', 'limit', 'jitter'] as const;

export function retryPolicy(context: Context, node: Located, scope: Scope): Retry {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object, or the name of a policy in use.retries', known: retryMembers });
  const inside = at(scope, 'task');
  const [delay, jitter] = [members.get('delay'), members.get('jitter')];
  return {
    ...conditions(context, members, inside),
    ...(delay === undefined ? {} : { delay: readDuration(context, delay, inside) }),
    backoff: backoff(context, members.get('backoff')),
    ...(jitter === undefined ? {} : { jitter: readJitter(context, jitter, inside) }),
    limit: limit(context, members.get('limit'), inside),
  };
}

const backoffs = ['constant', 'exponential', 'linear'] as const;

function backoff({ reading }: Context, node: Located | undefined): Retry['backoff'] {
  if (node === undefined) return 'constant';
  const members = membersOf(reading, node, { wanted: 'an object, such as { exponential: {} }', known: backoffs });
  const given = backoffs.filter((name) => members.get(name) !== undefined);
  if (node.kind === 'object' && given.length !== 1)
    reading.problem(node, 'needs exactly one of "constant", "exponential" and "linear"');
  for (const name of given) {
    const value = members.get(name);
    if (value !== undefined) membersOf(reading, value, { wanted: 'an empty object, {}', known: [] });
  }
  return given[0] ?? 'constant';
}

function readJitter(context: Context, node: Located, scope: Scope): NonNullable<Retry['jitter']> {
  const members = membersOf(context.reading, node, { wanted: 'an object with "from" and "to"', known: ['from', 'to'] });
  const bound = (name: 'from' | 'to') => {
    const value = members.required(name, 'a duration');
    return value === undefined ? { iso: 'PT0S' } : readDuration(context, value, scope);
  };
  return { from: bound('from'), to: bound('to') };
}

function limit(context: Context, node: Located | undefined, scope: Scope): Retry['limit'] {
  if (node === undefined) return {};
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known: ['attempt', 'duration'] });
  const [attempt, total] = [members.get('attempt'), members.get('duration')];
  const each =
    attempt === undefined ? undefined : membersOf(reading, attempt, { wanted: 'an object', known: ['count', 'duration'] });
  const [attempts, longest] = [each?.get('count'), each?.get('duration')];
  const count = attempts === undefined ? undefined : integerOf(reading, attempts, 0);
  if (attempts !== undefined && count !== undefined)
    reading.warning(attempts, `counts the attempts after the first one; with the first there are at most ${count + 1}`);
  return defined({
    count,
    attemptDuration: longest === undefined ? undefined : readDuration(context, longest, scope),
    duration: total === undefined ? undefined : readDuration(context, total, scope),
  });
}
