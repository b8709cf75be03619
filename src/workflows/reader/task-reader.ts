import { listItems, membersOf, onlyMember } from '#yaml/document-members.ts';
import type { Located, LocatedMember } from '#yaml/located.ts';
import { didYouMean, joinWords } from '#yaml/wording.ts';
import type { Directive, Task } from '../workflow.ts';
import { readCall } from './calls/call-reader.ts';
import { at, type Context, type Scope } from './context.ts';
import { readDuration } from './durations.ts';
import { readEmit, readListen } from './events.ts';
import { readFor, readFork, readRaise, readRunTask, readSet, readSwitch } from './flow-tasks.ts';
import { baseMembers, memberNames, taskKindMembers } from './member-table.ts';
import { directives, type RecognizedTask, taskBase } from './task-base.ts';
import { readTry } from './try-reader.ts';

type Kind = keyof typeof taskKindMembers;

const kindNames: readonly Kind[] = memberNames(taskKindMembers);

const maxNameLength = 255;

export function readTasks(context: Context, node: Located | undefined, scope: Scope): readonly Task[] {
  const items = namedTasks(context, node);
  const targets = { names: items.map(({ name }) => name), named: new Set<string>() };
  const tasks = items.map((item) => readTask(context, item, { scope, targets }));
  judgeNames(context, items, targets.named);
  const whole = tasks.filter((read) => read !== undefined);
  // A task that was not read might lead anywhere.
  if (whole.length === tasks.length) reportUnreachable(context, items, whole);
  return whole;
}

function reportUnreachable({ reading }: Context, items: readonly LocatedMember[], tasks: readonly Task[]): void {
  const [first] = unreachable(tasks);
  const item = first === undefined ? undefined : items[first];
  if (item !== undefined)
    reading.warning(item.place, 'can never be reached: the tasks before it go elsewhere with "then", and no "then" leads here');
}

export function readBranches(context: Context, node: Located | undefined, scope: Scope): readonly Task[] {
  const items = namedTasks(context, node);
  const targets = { named: new Set<string>() };
  const tasks = items.flatMap((item) => readTask(context, item, { scope, targets }) ?? []);
  judgeNames(context, items, targets.named);
  return tasks;
}

function namedTasks({ reading }: Context, node: Located | undefined): readonly LocatedMember[] {
  const items = listItems(reading, node, 'a list of tasks, each "- NAME: { … }"');
  if (node?.kind === 'array' && items.length === 0) reading.problem(node, 'needs at least one task');
  return items.flatMap((item) => onlyMember(reading, item, 'one task') ?? []);
}

/** An ambiguous name is a problem only where a `then` of the list uses it. */
function judgeNames({ reading }: Context, items: readonly LocatedMember[], named: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const { name, place } of items) {
    const isNamed = named.has(name);
    if (name === '' || name.length > maxNameLength)
      reading.problem(place, `is no name of a task; write 1 to ${maxNameLength} characters`);
    else if (seen.has(name) && isNamed)
      reading.problem(place, 'is the name of two tasks of this list, so that "then" cannot tell them apart');
    else if (seen.has(name))
      reading.warning(place, 'is the name of two tasks of this list; "then" cannot lead to either of them');
    else if (directives.some((word) => word === name)) {
      if (isNamed) reading.problem(place, 'has a meaning in "then", which this list uses; choose another name');
      else reading.warning(place, 'has a meaning in "then", which cannot lead to this task; choose another name');
    }
    seen.add(name);
  }
}

/** Undefined after a report. */
export function readTask(
  context: Context,
  item: LocatedMember,
  place: Pick<RecognizedTask, 'scope' | 'targets'>,
): Task | undefined {
  const { reading } = context;
  const { value } = item;
  if (value.kind !== 'object') return reading.wrongKind(value, `a task: an object with one of ${joinWords(kindNames)}`);
  const given = new Set(value.members.map(({ name }) => name));
  const found = kindNames.filter((kind) => given.has(kind) && !(kind === 'do' && given.has('for')));
  const [kind] = found;
  if (kind === undefined) {
    const near = value.members.map(({ name }) => didYouMean(name, kindNames)).find((text) => text !== '');
    return reading.problem(value, `says nothing to do${near ?? `; write one of ${joinWords(kindNames)}`}`);
  }
  if (found.length > 1)
    return reading.problem(value, `is ${joinWords(found)} at once; write one of them, and the others as tasks of their own`);
  const members = membersOf(reading, value, {
    wanted: 'a task',
    known: [...memberNames(baseMembers), ...memberNames(taskKindMembers[kind])],
  });
  const recognized = { context, members, ...place };
  return members.read(kind, (node) => readers[kind]({ ...recognized, node, base: taskBase(recognized, item) }));
}

/** Undefined after a report. */
const readers: Readonly<Record<Kind, (task: RecognizedTask) => Task | undefined>> = {
  call: readCall,
  do: ({ context, node, base, scope }) => ({ ...base, kind: 'do', tasks: context.tasks(node, scope) }),
  emit: readEmit,
  for: readFor,
  fork: readFork,
  listen: readListen,
  raise: readRaise,
  run: readRunTask,
  set: readSet,
  switch: readSwitch,
  try: readTry,
  wait: ({ context, node, base, scope }) => ({ ...base, kind: 'wait', duration: readDuration(context, node, at(scope, 'task')) }),
};

/** Indices of tasks that no way through the list leads to. */
function unreachable(tasks: readonly Task[]): readonly number[] {
  const reached = new Set<number>();
  const open = tasks.length === 0 ? [] : [0];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    const task = tasks[index];
    if (task === undefined || reached.has(index)) continue;
    reached.add(index);
    for (const directive of directivesOf(task)) {
      if (directive === 'continue') open.push(index + 1);
      else if (typeof directive === 'object') open.push(directive.index);
    }
  }
  return tasks.flatMap((_, index) => (reached.has(index) ? [] : [index]));
}

/** A task with a false `if` is skipped. */
function directivesOf(task: Task): readonly Directive[] {
  const skipped: readonly Directive[] = task.if === undefined ? [] : ['continue'];
  if (task.kind !== 'switch') return [task.then, ...skipped];
  const cases = task.cases.map(({ then }) => then);
  const hasDefault = task.cases.some(({ when }) => when === undefined);
  return [...cases, ...(hasDefault ? [] : [task.then]), ...skipped];
}
