import { innerTasks } from './call-operations.ts';
import type { BatchTask, Task, Workflow } from './workflow.ts';

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
