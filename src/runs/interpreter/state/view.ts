import type { Task, Workflow } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';
import type { Activity, RunState } from './run-state.ts';

export interface RunView {
  readonly workflow: Workflow;
  readonly run: RunState;
  readonly context: JsonValue;
}

export interface Variable {
  readonly name: string;
  /** JSON text. Made when an expression mentions it. */
  text(): string;
}

/** Where a task is within others. It follows from the state, which does not keep it. */
export interface TaskScope {
  readonly variables: readonly Variable[];
  readonly iteration?: number | undefined;
  /** The indices of the iterations around it, the outermost first. Absent: none. */
  readonly turn?: readonly number[] | undefined;
  readonly attempt: number;
  readonly depth: number;
  /** The item of the innermost iteration, as JSON text. */
  readonly label?: (() => string) | undefined;
  /** Readers see nothing of what the tasks here get and give. */
  readonly isPrivate?: boolean | undefined;
  /** The time limit of a task around it passed. */
  readonly expired: boolean;
}

export const outermost: TaskScope = { variables: [], attempt: 1, depth: 0, expired: false };

export interface ActivityLocation<T extends Task = Task, View extends RunView = RunView> {
  readonly run: View;
  readonly task: T;
  readonly activity: Activity;
  readonly scope: TaskScope;
}

export type TasksInside = readonly Omit<ActivityLocation, 'run'>[];

/** Once a time limit around it passed, only the ends of its calls count. */
export function isExpired({ scope, activity }: ActivityLocation): boolean {
  return scope.expired || activity.expired === true;
}

export function innerScope(place: ActivityLocation, more: Partial<TaskScope> = {}): TaskScope {
  return { ...place.scope, depth: place.scope.depth + 1, expired: isExpired(place), isPrivate: isPrivate(place), ...more };
}

export function isPrivate({ scope, task }: Pick<ActivityLocation, 'scope' | 'task'>): boolean {
  return scope.isPrivate === true || task.taskData === false;
}
