import type { ForkTask, Task } from '#workflows/workflow.ts';
import { arrayOf } from '../state/json-value.ts';
import type { Activity, Branch, ForkWork } from '../state/run-state.ts';
import { innerScope, type TaskScope, type TasksInside } from '../state/view.ts';
import type { TaskError } from '../task-error.ts';
import type { Progress, TurnLocation } from '../turn.ts';
import type { TaskBehaviour } from './task-kind.ts';

/** The first end of a branch that ends the fork: in a race any end, else a fault or the directive `end`. The others are given up. */
export const forkBehaviour: TaskBehaviour<ForkTask, ForkWork> = {
  begin: (place) => {
    const { run, activity } = place;
    const scope = innerScope(place);
    return join(place, [], (branch) => run.tasks.begin(run, branch, activity.input, scope));
  },
  advance: (place, work, event) => {
    const { run } = place;
    const scope = innerScope(place);
    const progress = join(place, work.branches, (task, branch) => {
      if (branch === undefined || 'output' in branch) return undefined;
      return run.tasks.advance({ run, task, activity: branch.activity, scope }, event);
    });
    const same = progress.kind === 'busy' && progress.state.branches.every((branch, index) => branch === work.branches[index]);
    return same ? { ...progress, state: work } : progress;
  },
  children: (place, { branches }) => underWay(place.task.branches, branches, innerScope(place)),
};

type Move = (task: Task, branch: Branch | undefined) => Progress<Activity> | undefined;

function join(place: TurnLocation<ForkTask>, before: readonly Branch[], move: Move): Progress<ForkWork> {
  const { task } = place;
  const branches = [...before];
  let unknown: TaskError | undefined;
  for (const [index, branch] of task.branches.entries()) {
    const progress = move(branch, before[index]);
    if (progress === undefined) continue;
    if (progress.kind === 'busy') {
      unknown ??= progress.unknown;
      branches[index] = branchOf(before[index], progress.state);
      continue;
    }
    if (progress.kind === 'ended' && !task.compete && progress.directive !== 'end') {
      branches[index] = { output: progress.output };
      continue;
    }
    dropOthers(place, branches, index);
    return endEarly(progress);
  }
  const outputs = branches.flatMap((branch) => ('output' in branch ? [branch.output] : []));
  if (outputs.length < branches.length) return { kind: 'busy', state: { kind: 'fork', branches }, unknown };
  return { kind: 'ended', output: task.compete ? place.activity.input : arrayOf(outputs) };
}

function branchOf(before: Branch | undefined, activity: Activity): Branch {
  return before !== undefined && 'activity' in before && before.activity === activity ? before : { activity };
}

function endEarly(progress: Exclude<Progress<Activity>, { readonly kind: 'busy' }>): Progress<ForkWork> {
  if (progress.kind !== 'ended') return progress;
  return { kind: progress.directive === 'end' ? 'finished' : 'ended', output: progress.output };
}

function dropOthers({ run, ...place }: TurnLocation<ForkTask>, branches: readonly Branch[], index: number): void {
  const others = branches.map((branch, at) => (at === index ? { output: place.activity.raw } : branch));
  for (const child of underWay(place.task.branches, others, innerScope({ run, ...place }))) run.tasks.drop({ run, ...child });
}

function underWay(tasks: readonly Task[], branches: readonly Branch[], scope: TaskScope): TasksInside {
  return tasks.flatMap((task, index) => {
    const branch = branches[index];
    return branch !== undefined && 'activity' in branch ? [{ task, activity: branch.activity, scope }] : [];
  });
}
