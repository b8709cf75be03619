import { defined } from '#base/text/defined.ts';
import { integerOf, membersOf, type ObjectMembers, readText } from '#yaml/document-members.ts';
import type { Located } from '#yaml/located.ts';
import { type CallSite, operationsOf } from '../call-operations.ts';
import { type Catch, outcomeUnknown, type Retry, type Task, type TryTask } from '../workflow.ts';
import { at, type Context, type Scope, variableName, within } from './context.ts';
import { expressionIn } from './jq-source.ts';
import {
  attemptMembers,
  backoffMembers,
  catchMembers,
  errorFilterMembers,
  jitterMembers,
  limitMembers,
  memberNames,
  retryMembers,
} from './member-table.ts';
import { type RecognizedTask, readDuration } from './task-base.ts';
import { condition } from './template.ts';

export function readTry({ context, members, node, base, scope }: RecognizedTask): Task {
  const clause = members.required('catch', 'what happens with errors; {} catches all of them');
  const tasks = context.tasks(node, scope);
  const handling = clause === undefined ? { as: 'error' } : readCatch(context, clause, scope);
  if (clause !== undefined) warnOfChanges(context, clause, { tasks, catch: handling });
  return { ...base, kind: 'try', tasks, catch: handling };
}

function warnOfChanges(
  { reading }: Context,
  clause: Located,
  { tasks, catch: handling }: Pick<TryTask, 'tasks' | 'catch'>,
): void {
  if (!operationsOf({ tasks, input: {}, output: {} }).calls.some(isChange)) return;
  // A filter of another type does not claim to catch it.
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

/** By the document alone. */
function isChange({ function: name, method, repeatable }: CallSite): boolean {
  return (
    (name === 'orchestratorAction' && repeatable !== true) ||
    (method !== undefined && !['GET', 'HEAD', 'OPTIONS'].includes(method))
  );
}

function readCatch(context: Context, node: Located, scope: Scope): Catch {
  const { reading } = context;
  const members = membersOf(reading, node, {
    wanted: 'an object, such as {} to catch all errors',
    known: memberNames(catchMembers),
  });
  const as = variableName(reading, members, 'as', 'error');
  const inside = within(scope, [as]);
  return defined({
    errors: members.read('errors', (errors) => errorFilter(context, errors)),
    as,
    ...readConditions(context, members, inside),
    retry: members.read('retry', (retry) => retryOrName(context, retry, inside)),
    tasks: members.read('do', (tasks) => context.tasks(tasks, inside)),
  });
}

function readConditions(context: Context, members: ObjectMembers, scope: Scope) {
  const read = (name: string) => members.read(name, (node) => condition(context, node, at(scope, 'task')));
  return { when: read('when'), exceptWhen: read('exceptWhen') };
}

function errorFilter({ reading }: Context, node: Located): NonNullable<Catch['errors']> {
  const members = membersOf(reading, node, { wanted: 'an object with "with"', known: memberNames(catchMembers.errors) });
  const filter = members.get('with');
  if (filter === undefined) return {};
  const known = memberNames(errorFilterMembers);
  const found = membersOf(reading, filter, { wanted: 'an object with the members that an error must have', known });
  if (filter.kind === 'object' && filter.members.length === 0)
    reading.problem(filter, 'is empty; remove "errors" to catch all errors');
  const constant = (name: (typeof known)[number]): string | undefined =>
    found.read(name, (value) => {
      const text = readText(reading, value, 'text');
      if (text !== undefined && typeof expressionIn(text) === 'object')
        reading.problem(value, 'must be a constant here; put the expression into "when"');
      return text;
    });
  return defined({
    type: constant('type'),
    status: found.read('status', (status) => integerOf(reading, status, 0)),
    instance: constant('instance'),
    title: constant('title'),
    detail: constant('details') ?? constant('detail'),
  });
}

const noRetry: Retry = { backoff: 'constant', limit: {} };

function retryOrName(context: Context, node: Located, scope: Scope): Retry {
  if (node.kind !== 'string') return retryPolicy(context, node, scope);
  const found = context.definitions.find(context.reading, 'retries', node.value, node);
  return found === undefined ? noRetry : retryPolicy(context, found, scope);
}

export function retryPolicy(context: Context, node: Located, scope: Scope): Retry {
  const { reading } = context;
  const members = membersOf(reading, node, {
    wanted: 'an object, or the name of a policy in use.retries',
    known: memberNames(retryMembers),
  });
  const inside = at(scope, 'task');
  return defined({
    ...readConditions(context, members, inside),
    delay: members.read('delay', (delay) => readDuration(context, delay, inside)),
    backoff: members.read('backoff', (given) => readBackoff(context, given)) ?? 'constant',
    jitter: members.read('jitter', (jitter) => readJitter(context, jitter, inside)),
    limit: members.read('limit', (given) => readLimit(context, given, inside)) ?? {},
  });
}

const backoffs = memberNames(backoffMembers);

function readBackoff({ reading }: Context, node: Located): Retry['backoff'] | undefined {
  const members = membersOf(reading, node, { wanted: 'an object, such as { exponential: {} }', known: backoffs });
  const given = members.oneOf(backoffs, 'needs exactly one of "constant", "exponential" and "linear"');
  for (const name of backoffs)
    members.read(name, (value) => membersOf(reading, value, { wanted: 'an empty object, {}', known: [] }));
  return given;
}

function readJitter(context: Context, node: Located, scope: Scope): NonNullable<Retry['jitter']> {
  const members = membersOf(context.reading, node, {
    wanted: 'an object with "from" and "to"',
    known: memberNames(jitterMembers),
  });
  const bound = (name: 'from' | 'to') =>
    members.readRequired(name, 'a duration', (value) => readDuration(context, value, scope)) ?? { iso: 'PT0S' };
  return { from: bound('from'), to: bound('to') };
}

function readLimit(context: Context, node: Located, scope: Scope): Retry['limit'] {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known: memberNames(limitMembers) });
  const duration = (given: Located) => readDuration(context, given, scope);
  const each = members.read('attempt', (attempt) =>
    membersOf(reading, attempt, { wanted: 'an object', known: memberNames(attemptMembers) }),
  );
  const count = each?.read('count', (attempts) => {
    const retries = integerOf(reading, attempts, 0);
    if (retries !== undefined)
      reading.warning(attempts, `counts the attempts after the first one; with the first there are at most ${retries + 1}`);
    return retries;
  });
  return defined({ count, attemptDuration: each?.read('duration', duration), duration: members.read('duration', duration) });
}
