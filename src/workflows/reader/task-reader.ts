import type { Located, LocatedMember } from '#yaml/located.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { listed } from '#yaml/wording.ts';
import type { Task } from '../workflow.ts';
import { callTask } from './call-reader.ts';
import type { Context } from './context.ts';
import { readDuration } from './durations.ts';
import { emitTask, listenTask } from './events.ts';
import { forkTask, forTask, raiseTask, runTask, setTask, switchTask } from './flow-tasks.ts';
import { listItems, membersOf, type ObjectMembers, onlyMember } from './members.ts';
import { unreachable } from './reachable.ts';
import { at, type Scope } from './scope.ts';
import { type BaseOf, baseMembers, directives, type TaskPlace, taskBase } from './task-base.ts';
import { tryTask } from './try-reader.ts';

/** The member that makes a task one of its kind, and the other members of the kind. */
const kinds = {
  call: ['with'],
  emit: [],
  for: ['while', 'do'],
  fork: [],
  listen: ['foreach'],
  raise: [],
  run: [],
  set: [],
  switch: [],
  try: ['catch'],
  wait: [],
  // Last, since a `for` has a `do` as well.
  do: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type Kind = keyof typeof kinds;

const kindNames = Object.keys(kinds) as readonly Kind[];

const longestName = 255;

/** A list of tasks that follow each other. */
export function taskList(context: Context, node: Located | undefined, scope: Scope): readonly Task[] {
  const items = namedTasks(context, node);
  const targets = { names: items.map(({ name }) => name), named: new Set<string>() };
  const tasks = items.map((item) => task(context, item, { scope, targets }));
  judgeNames(context, items, targets.named);
  const whole = tasks.filter((read) => read !== undefined);
  // Where a task could not be read, it is not known what follows it.
  if (whole.length === tasks.length) reportUnreachable(context, items, whole);
  return whole;
}

function reportUnreachable({ reading }: Context, items: readonly LocatedMember[], tasks: readonly Task[]): void {
  const [first] = unreachable(tasks);
  const item = first === undefined ? undefined : items[first];
  if (item !== undefined)
    reading.warning(item.place, 'can never be reached: the tasks before it go elsewhere with "then", and no "then" leads here');
}

/** Tasks that run at the same time. */
export function branchList(context: Context, node: Located | undefined, scope: Scope): readonly Task[] {
  const items = namedTasks(context, node);
  const targets = { named: new Set<string>() };
  const tasks = items.flatMap((item) => task(context, item, { scope, targets }) ?? []);
  judgeNames(context, items, targets.named);
  return tasks;
}

function namedTasks({ reading }: Context, node: Located | undefined): readonly LocatedMember[] {
  const items = listItems(reading, node, 'a list of tasks, each "- NAME: { … }"');
  if (node?.kind === 'array' && items.length === 0) reading.problem(node, 'needs at least one task');
  return items.flatMap((item) => onlyMember(reading, item, 'one task') ?? []);
}

/** `named`: what `then` names in this list. A name that it could mean in two ways is a problem there alone. */
function judgeNames({ reading }: Context, items: readonly LocatedMember[], named: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const { name, place } of items) {
    const isNamed = named.has(name);
    if (name === '' || name.length > longestName)
      reading.problem(place, `is no name of a task; write 1 to ${longestName} characters`);
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

/** One task with its name; undefined where its kind cannot be read, which is reported. */
export function task(context: Context, item: LocatedMember, place: TaskPlace): Task | undefined {
  const { reading } = context;
  const { value } = item;
  if (value.kind !== 'object') return reading.wrongKind(value, `a task: an object with one of ${listed(kindNames)}`);
  const given = new Set(value.members.map(({ name }) => name));
  const found = kindNames.filter((kind) => given.has(kind) && !(kind === 'do' && given.has('for')));
  const [kind] = found;
  if (kind === undefined) {
    const near = value.members.map(({ name }) => didYouMean(name, kindNames)).find((text) => text !== '');
    reading.problem(value, `says nothing to do${near ?? `; write one of ${listed(kindNames)}`}`);
    return undefined;
  }
  if (found.length > 1) {
    reading.problem(value, `is ${listed(found)} at once; write one of them, and the others as tasks of their own`);
    return undefined;
  }
  const members = membersOf(reading, value, { wanted: 'a task', known: [...baseMembers, kind, ...kinds[kind]] });
  const node = members.get(kind);
  return node === undefined
    ? undefined
    : readers[kind]({ context, members, node, base: taskBase(context, item, members, place), place });
}

interface Recognized {
  readonly context: Context;
  readonly members: ObjectMembers;
  /** The value of the member that makes the kind. */
  readonly node: Located;
  readonly base: BaseOf;
  readonly place: TaskPlace;
}

/** Reads what is special to a kind. */
const readers: Readonly<Record<Kind, (task: Recognized) => Task | undefined>> = {
  call: ({ context, members, base, place }) => callTask(context, members, base, place.scope),
  do: ({ context, node, base, place }) => ({ ...base, kind: 'do', tasks: context.tasks(node, place.scope) }),
  emit: ({ context, node, base, place }) => emitTask(context, node, base, place.scope),
  for: ({ context, members, node, base, place }) => forTask(context, members, node, base, place.scope),
  fork: ({ context, node, base, place }) => forkTask(context, node, base, place.scope),
  listen: ({ context, members, node, base, place }) => listenTask(context, members, node, base, place.scope),
  raise: ({ context, node, base, place }) => raiseTask(context, node, base, place.scope),
  run: ({ context, node, base, place }) => runTask(context, node, base, place.scope),
  set: ({ context, node, base, place }) => setTask(context, node, base, place.scope),
  switch: ({ context, node, base, place }) => switchTask(context, node, base, place.scope, place.targets),
  try: ({ context, members, node, base, place }) => tryTask(context, members, node, base, place.scope),
  wait: ({ context, node, base, place }) => ({
    ...base,
    kind: 'wait',
    duration: readDuration(context, node, at(place.scope, 'task')),
  }),
};
