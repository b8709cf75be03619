import type { Directive, Task } from '../workflow.ts';

/** The indices of tasks of one list that no way through the list leads to. */
export function unreachable(tasks: readonly Task[]): readonly number[] {
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

/** All that may follow a task. One whose `if` is false is left out, and the next one follows. */
function directivesOf(task: Task): readonly Directive[] {
  const skipped: readonly Directive[] = task.if === undefined ? [] : ['continue'];
  if (task.kind !== 'switch') return [task.then, ...skipped];
  const cases = task.cases.map(({ then }) => then);
  const hasDefault = task.cases.some(({ when }) => when === undefined);
  return [...cases, ...(hasDefault ? [] : [task.then]), ...skipped];
}
