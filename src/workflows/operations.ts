import { type CallSite, fetchSite, type RunSite, sitesOf } from './call-sites.ts';
import type { DataSchema, FunctionName, Task, Workflow } from './workflow.ts';

/** What a workflow may do beyond its own data. */
interface Operations {
  /** The functions that it calls. A schema that it fetches counts as `http`. */
  readonly functions: ReadonlySet<FunctionName>;
  /** The workflows that it runs, which count as all the calls in them. */
  readonly workflows: readonly RunSite[];
  /** Each place that sends something. */
  readonly calls: readonly CallSite[];
}

/** Every call that some run of the workflow can make, also those of functions and error handlers. */
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
  const noteRun = (id: string, version: string, pointer: string): void => {
    const key = `${id} ${version}`;
    if (!workflows.has(key)) workflows.set(key, { id, version, pointer });
  };
  // Calls of one function share its body, which is looked at once.
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
    if (task.kind === 'run') noteRun(task.workflow, task.version, task.reference);
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
