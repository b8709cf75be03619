import { defined } from '#base/text/defined.ts';
import { isSemanticVersion } from '#base/text/semantic-version.ts';
import { listItems, membersOf, namedEntries, type ObjectMembers, readText, wordOf } from '#yaml/document-members.ts';
import type { DocumentReading } from '#yaml/document-reading.ts';
import type { Located } from '#yaml/located.ts';
import { functionNames, type Task, type Workflow } from '../workflow.ts';
import { policy } from './calls/endpoints.ts';
import { at, type Context, Definitions, isName, type Scope, type WrittenExpression, within, workflowScope } from './context.ts';
import { timeout, timeoutDefinition } from './durations.ts';
import { errorDefinition } from './flow-tasks.ts';
import { documentMembers, memberNames } from './member-table.ts';
import { dataInput, dataOutput } from './task-base.ts';
import { readBranches, readTask, readTasks } from './task-reader.ts';
import { retryPolicy } from './try-reader.ts';

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
