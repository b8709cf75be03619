import { isSemanticVersion } from '#base/semantic-version.ts';
import type { Located } from '#yaml/located.ts';
import { shown } from '#yaml/wording.ts';
import type { Task, Workflow } from '../workflow.ts';
import type { Context } from './context.ts';
import { Definitions } from './definitions.ts';
import { timeout } from './durations.ts';
import { membersOf, type ObjectMembers, wordOf } from './members.ts';
import { isName } from './names.ts';
import type { DocumentReading } from './reading.ts';
import { at, type Scope, workflowScope } from './scope.ts';
import { dataInput, dataOutput } from './task-base.ts';
import { branchList, task, taskList } from './task-reader.ts';
import { readUse } from './use-reader.ts';

const known = ['document', 'input', 'use', 'do', 'timeout', 'output', 'evaluate'] as const;

const refused = {
  schedule: 'is not part of a workflow here: the automation that runs it has the schedule (repeatInterval or cron)',
} as const;

interface DocumentOptions {
  readonly reading: DocumentReading;
  readonly root: Located;
  readonly adapters?: readonly string[];
  readonly loose?: NonNullable<Context['loose']>;
}

const firstScope: Scope = { moment: 'task', own: [] };

/** Reads a whole document. The result is of use only where the reading has no problems. */
export function readDocument({ reading, root, adapters, loose }: DocumentOptions): Workflow {
  const members = membersOf(reading, root, { wanted: 'a workflow: an object with "document" and "do"', known, refused });
  const use = members.get('use');
  const definitions = new Definitions(use);
  const context: Context = {
    reading,
    definitions,
    ...(adapters === undefined ? {} : { adapters }),
    ...(loose === undefined ? {} : { loose }),
    tasks: (node, scope) => taskList(context, node, scope),
    branches: (node, scope) => branchList(context, node, scope),
    body: bodyReader(() => context),
  };
  const identity = readIdentity(reading, members);
  const limit = members.get('timeout');
  const tasks = context.tasks(members.required('do', 'the list of tasks'), firstScope);
  const workflow: Workflow = {
    ...identity,
    definition: root.json,
    input: dataInput(context, members.get('input'), workflowScope),
    output: dataOutput(context, members.get('output'), at(workflowScope, 'workflowOutput')),
    secrets: definitions.secrets,
    ...(limit === undefined ? {} : { timeout: timeout(context, limit, workflowScope) }),
    tasks,
  };
  readUse(context, use);
  return workflow;
}

const deepestCalls = 100;

/** Reads each function once: all calls share its body. */
function bodyReader(context: () => Context): Context['body'] {
  const bodies = new Map<string, Task | 'recursive' | undefined>();
  let depth = 0;
  return (name, node) => {
    if (bodies.has(name)) return bodies.get(name);
    if (depth >= deepestCalls) return 'recursive';
    bodies.set(name, 'recursive');
    depth += 1;
    const body = task(context(), { name, place: node, value: node }, { scope: firstScope, targets: {} });
    depth -= 1;
    bodies.set(name, body);
    return body;
  };
}

function readIdentity(
  reading: DocumentReading,
  members: ObjectMembers,
): Pick<Workflow, 'id' | 'namespace' | 'name' | 'version' | 'title' | 'summary'> {
  const node = members.required('document', 'dsl, namespace, name and version of the workflow');
  const names = ['dsl', 'namespace', 'name', 'version', 'title', 'summary', 'tags', 'metadata'] as const;
  const document =
    node === undefined
      ? undefined
      : membersOf(reading, node, { wanted: 'an object with dsl, namespace, name and version', known: names });
  const text = (name: (typeof names)[number], isValid: (value: string) => boolean, form: string): string => {
    const value = document?.required(name, form);
    const found = value === undefined ? undefined : document?.text(name, `${form}, in quotes`);
    if (value !== undefined && found !== undefined && !isValid(found))
      reading.problem(value, `${shown(found)} is none; write ${form}`);
    return found ?? '';
  };
  text('dsl', (value) => /^1\.0\.(?:0|[1-9]\d{0,3})$/u.test(value), 'the version of the DSL, 1.0.x such as 1.0.3');
  const form = '1 to 63 letters, digits and -, with a letter or digit at both ends';
  const [namespace, name] = [text('namespace', isName, form), text('name', isName, form)];
  const version = text('version', isSemanticVersion, 'a semantic version, such as 1.0.0');
  const [title, summary] = [document?.text('title', 'text'), document?.text('summary', 'text')];
  for (const part of ['tags', 'metadata']) {
    const value = document?.get(part);
    if (value !== undefined && value.kind !== 'object') reading.wrongKind(value, 'an object');
  }
  return {
    id: `${namespace}.${name}`,
    namespace,
    name,
    version,
    ...(title === undefined ? {} : { title }),
    ...(summary === undefined ? {} : { summary }),
  };
}

/** `evaluate.mode`, before all else is read. */
export function isLoose(reading: DocumentReading, root: Located): boolean {
  const node = root.kind === 'object' ? root.members.find(({ name }) => name === 'evaluate')?.value : undefined;
  if (node === undefined) return false;
  const members = membersOf(reading, node, { wanted: 'an object', known: ['language', 'mode'] });
  const [language, mode] = [members.get('language'), members.get('mode')];
  if (language !== undefined) wordOf(reading, language, ['jq']);
  return mode !== undefined && wordOf(reading, mode, ['strict', 'loose']) === 'loose';
}
