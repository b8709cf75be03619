import { defined } from '#base/text/defined.ts';
import { isSemanticVersion } from '#base/text/semantic-version.ts';
import { listItems, membersOf, namedEntries, type ObjectMembers, onlyMember, readText, wordOf } from '#yaml/document-members.ts';
import type { DocumentReading } from '#yaml/document-reading.ts';
import type { Located, LocatedMember } from '#yaml/located.ts';
import { didYouMean, joinWords } from '#yaml/wording.ts';
import { type Directive, functionNames, type Task, type Workflow } from '../workflow.ts';
import { readCall } from './calls/call-reader.ts';
import { policy } from './calls/endpoints.ts';
import { at, type Context, Definitions, isName, type Scope, type WrittenExpression, within, workflowScope } from './context.ts';
import { readEmit, readListen } from './events.ts';
import { errorDefinition, readFor, readFork, readRaise, readRunTask, readSet, readSwitch } from './flow-tasks.ts';
import { baseMembers, documentMembers, memberNames, taskKindMembers } from './member-table.ts';
import {
  dataInput,
  dataOutput,
  directives,
  type RecognizedTask,
  readDuration,
  taskBase,
  timeout,
  timeoutDefinition,
} from './task-base.ts';
import { readTry, retryPolicy } from './try-reader.ts';

const known = memberNames(documentMembers);

const refused = {
  schedule: 'is not part of a workflow here: the automation that runs it has the schedule (repeatInterval or cron)',
} as const;

interface DocumentOptions {
  readonly reading: DocumentReading;
  readonly root: Located;
  readonly expressions: WrittenExpression[];
  readonly adapters?: readonly string[];
  readonly loose?: NonNullable<Context['loose']>;
}

const firstScope: Scope = { moment: 'task', own: [] };

/** Valid only where the reading has no problems. */
export function readDocument({ reading, root, expressions, adapters, loose }: DocumentOptions): Workflow {
  const members = membersOf(reading, root, { wanted: 'a workflow: an object with "document" and "do"', known, refused });
  const use = members.get('use');
  const definitions = new Definitions(use);
  const context: Context = {
    ...defined({ reading, definitions, expressions, adapters, loose }),
    tasks: (node, scope) => readTasks(context, node, scope),
    branches: (node, scope) => readBranches(context, node, scope),
    body: bodyReader(() => context),
  };
  const identity = readIdentity(reading, members);
  const tasks = context.tasks(members.required('do', 'the list of tasks'), firstScope);
  const workflow: Workflow = defined({
    ...identity,
    definition: root.json,
    input: dataInput(context, members.get('input'), workflowScope),
    output: dataOutput(context, members.get('output'), at(workflowScope, 'workflowOutput')),
    secrets: definitions.secrets,
    timeout: members.read('timeout', (node) => timeout(context, node, workflowScope)),
    tasks,
  });
  readUse(context, use);
  return workflow;
}

const deepestCalls = 100;

/** All calls of a function share its body. */
function bodyReader(context: () => Context): Context['body'] {
  const bodies = new Map<string, Task | 'recursive' | undefined>();
  let depth = 0;
  return (name, node) => {
    if (bodies.has(name)) return bodies.get(name);
    if (depth >= deepestCalls) return 'recursive';
    bodies.set(name, 'recursive');
    depth += 1;
    const body = readTask(context(), { name, place: node, value: node }, { scope: firstScope, targets: {} });
    depth -= 1;
    bodies.set(name, body);
    return body;
  };
}

function readIdentity(
  reading: DocumentReading,
  members: ObjectMembers,
): Pick<Workflow, 'id' | 'namespace' | 'name' | 'version' | 'title' | 'summary' | 'taskData'> {
  const known = memberNames(documentMembers.document);
  const document = members.readRequired('document', 'dsl, namespace, name and version of the workflow', (node) =>
    membersOf(reading, node, { wanted: 'an object with dsl, namespace, name and version', known }),
  );
  const text = (name: string, isValid: (value: string) => boolean, form: string): string =>
    document?.validText(name, isValid, form, `${form}, in quotes`) ?? '';
  text('dsl', (value) => /^1\.0\.(?:0|[1-9]\d{0,3})$/u.test(value), 'the version of the DSL, 1.0.x such as 1.0.3');
  const form = '1 to 63 letters, digits and -, with a letter or digit at both ends';
  const [namespace, name] = [text('namespace', isName, form), text('name', isName, form)];
  const version = text('version', isSemanticVersion, 'a semantic version, such as 1.0.0');
  const [title, summary] = [document?.text('title', 'text'), document?.text('summary', 'text')];
  document?.checkObject('tags');
  const taskData = document?.taskData();
  return defined({ id: `${namespace}.${name}`, namespace, name, version, title, summary, taskData });
}

export function isLoose(reading: DocumentReading, root: Located): boolean {
  const node = root.kind === 'object' ? root.members.find(({ name }) => name === 'evaluate')?.value : undefined;
  if (node === undefined) return false;
  const members = membersOf(reading, node, { wanted: 'an object', known: memberNames(documentMembers.evaluate) });
  members.read('language', (language) => wordOf(reading, language, ['jq']));
  return members.read('mode', (mode) => wordOf(reading, mode, ['strict', 'loose'])) === 'loose';
}

const usePartNames = memberNames(documentMembers.use);

const refusedUse = {
  extensions: 'are not supported: they change tasks from elsewhere; write the tasks where they belong',
  catalogs: 'are not supported: the gateway takes no functions from elsewhere; define them in use.functions',
} as const;

const builtIn: readonly string[] = [...functionNames, 'grpc', 'asyncapi', 'a2a', 'mcp'];

/** Reads what no task used, so that its problems show too. */
function readUse(context: Context, node: Located | undefined): void {
  if (node === undefined) return;
  const { reading, definitions } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known: usePartNames, refused: refusedUse });
  for (const part of ['authentications', 'errors', 'retries', 'timeouts'] as const)
    namedEntries(reading, members.get(part), `an object of ${part}`);
  for (const { name, place, value } of namedEntries(reading, members.get('functions'), 'an object of functions')) {
    if (builtIn.includes(name)) reading.problem(place, 'is the name of a function that exists; choose another name');
    context.body(name, value);
  }
  readSecrets(context, members.get('secrets'));
  const scope = anyScope(node);
  for (const value of definitions.unused('authentications')) policy(context, value, scope);
  for (const value of definitions.unused('errors')) errorDefinition(context, value, scope);
  for (const value of definitions.unused('retries')) retryPolicy(context, value, scope);
  for (const value of definitions.unused('timeouts')) timeoutDefinition(context, value, scope);
}

function readSecrets({ reading }: Context, node: Located | undefined): void {
  const seen = new Set<string>();
  for (const item of listItems(reading, node, 'a list of names')) {
    const name = readText(reading, item, 'the name of a secret');
    if (name === undefined) continue;
    if (seen.has(name)) reading.problem(item, 'is listed twice; keep one');
    seen.add(name);
  }
}

/** The variables that an unused definition may name are not known. */
function anyScope(node: Located): Scope {
  const mentioned = Array.from(node.json.matchAll(/\$((?!__)[A-Za-z_]\w*)/gu), ([, name = '']) => name);
  return within({ moment: 'task', own: [] }, mentioned);
}

type Kind = keyof typeof taskKindMembers;

const kindNames: readonly Kind[] = memberNames(taskKindMembers);

const maxNameLength = 255;

function readTasks(context: Context, node: Located | undefined, scope: Scope): readonly Task[] {
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

function readBranches(context: Context, node: Located | undefined, scope: Scope): readonly Task[] {
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
function readTask(context: Context, item: LocatedMember, place: Pick<RecognizedTask, 'scope' | 'targets'>): Task | undefined {
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
