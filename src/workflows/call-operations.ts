import type { Operation } from '#access/rights/operations.ts';
import type {
  BatchTask,
  CallLiterals,
  CallTask,
  DataSchema,
  ExternalResource,
  FunctionName,
  RunTask,
  Task,
  Workflow,
} from './workflow.ts';

interface Operations {
  /** A schema that it fetches counts as `http`. */
  readonly functions: ReadonlySet<FunctionName>;
  /** These count as all the calls in them. */
  readonly workflows: readonly RunSite[];
  readonly calls: readonly CallSite[];
}

/** Every call that some run can make, also in functions and error handlers. */
export function operationsOf({ tasks, input, output }: Pick<Workflow, 'tasks' | 'input' | 'output'>): Operations {
  const functions = new Set<FunctionName>();
  const workflows = new Map<string, RunSite>();
  const calls: CallSite[] = [];
  const noteSchemas = (...data: readonly { readonly schema?: DataSchema }[]): void => {
    for (const { schema } of data) {
      if (schema?.resource === undefined) continue;
      functions.add('http');
      calls.push(fetchSite(schema.pointer, schema.resource));
    }
  };
  const noteRun = ({ kind, workflow: id, version, reference: pointer }: RunTask | BatchTask): void => {
    const key = `${kind} ${id} ${version}`;
    if (!workflows.has(key)) workflows.set(key, { id, version, pointer, ...(kind === 'batch' && { batch: true }) });
  };
  const seen = new Set<Task>();
  const open = [...tasks];
  noteSchemas(input, output);
  for (let task = open.pop(); task !== undefined; task = open.pop()) {
    if (seen.has(task)) continue;
    seen.add(task);
    noteSchemas(task.input, task.output, task.export);
    if (task.kind === 'call') {
      functions.add(task.function);
      calls.push(...sitesOf(task));
    }
    if (task.kind === 'run' || task.kind === 'batch') noteRun(task);
    if (task.kind === 'listen' && task.foreach !== undefined) noteSchemas(task.foreach.output, task.foreach.export);
    open.push(...innerTasks(task));
  }
  return { functions, workflows: [...workflows.values()], calls };
}

function innerTasks(task: Task): readonly Task[] {
  switch (task.kind) {
    case 'do':
    case 'for':
      return task.tasks;
    case 'fork':
      return task.branches;
    case 'function':
      return [task.body];
    case 'listen':
      return task.foreach?.tasks ?? [];
    case 'try':
      return [...task.tasks, ...(task.catch.tasks ?? [])];
    default:
      return [];
  }
}

/** Line and column are absent where the document was read without them. */
interface Site {
  /** RFC 6901. */
  readonly pointer: string;
  readonly line?: number;
  readonly column?: number;
}

/** An argument that is an expression is absent. */
export interface CallSite extends Site, CallLiterals {
  readonly function: Exclude<FunctionName, 'approval'>;
}

/** Of `run: workflow` or `call: batch`. */
export interface RunSite extends Partial<Site> {
  readonly id: string;
  readonly version: string;
  /** It runs for each item of a batch. */
  readonly batch?: true;
}

/** `call: openapi` also requests its document; `approval` sends nothing. */
function sitesOf({ function: name, reference: pointer, literals, document }: CallTask): readonly CallSite[] {
  if (name === 'approval') return [];
  const call: CallSite = { pointer, function: name, ...literals };
  return document === undefined ? [call] : [fetchSite(pointer, document), call];
}

function fetchSite(pointer: string, { endpoint: { constant } }: ExternalResource): CallSite {
  const { uri } = JSON.parse(constant ?? '{}') as { readonly uri?: unknown };
  return { pointer, function: 'http', method: 'GET', ...(typeof uri === 'string' && { path: uri }) };
}

/** What the right to a call is named after. */
export const operationOf = {
  http: 'restCall',
  openapi: 'restCall',
  restCall: 'restCall',
  orchestratorAction: 'restAction',
  orchestratorQuery: 'restQuery',
  orchestratorRequest: 'restRequest',
} as const satisfies Readonly<Record<CallSite['function'], Operation>>;

/** What a repetition of the items of batches has to know of a document. */
interface TasksOfBatches {
  /** `isShared`: it is in a function that several tasks call, and its batches have one place in the document. */
  readonly batches: readonly { readonly task: BatchTask; readonly isShared: boolean }[];
  /** Names of tasks outside of batches that call, run a workflow or emit. */
  readonly others: readonly string[];
}

export function tasksOfBatches({ tasks }: Pick<Workflow, 'tasks'>): TasksOfBatches {
  const callers = callersOf(tasks);
  const batches: { readonly task: BatchTask; readonly isShared: boolean }[] = [];
  const others = new Set<string>();
  const seen = new Set<Task>();
  const open = tasks.map((task) => ({ task, isShared: false }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { task, isShared } = next;
    if (seen.has(task)) continue;
    seen.add(task);
    if (task.kind === 'batch') batches.push({ task, isShared });
    if (task.kind === 'call' || task.kind === 'run' || task.kind === 'emit') others.add(task.name);
    const inner = innerTasks(task).toReversed();
    open.push(...inner.map((one) => ({ task: one, isShared: isShared || (callers.get(one) ?? 0) > 1 })));
  }
  return { batches, others: [...others] };
}

/** How many tasks call each function. */
function callersOf(tasks: readonly Task[]): ReadonlyMap<Task, number> {
  const callers = new Map<Task, number>();
  const seen = new Set<Task>();
  const open = [...tasks];
  for (let task = open.pop(); task !== undefined; task = open.pop()) {
    if (seen.has(task)) continue;
    seen.add(task);
    if (task.kind === 'function') callers.set(task.body, (callers.get(task.body) ?? 0) + 1);
    open.push(...innerTasks(task));
  }
  return callers;
}
