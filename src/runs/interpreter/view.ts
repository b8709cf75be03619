import type { Task, Workflow } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';
import type { Activity, RunState } from './run-state.ts';

/** What an expression can see of a run. */
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

/** Where a task is within others. It follows from the state: nothing of it is kept. */
export interface TaskScope {
  readonly variables: readonly Variable[];
  readonly iteration?: number | undefined;
  readonly attempt: number;
  readonly depth: number;
  /** A time limit of a task around it passed: only the ends of calls count. */
  readonly expired: boolean;
}

export const outermost: TaskScope = { variables: [], attempt: 1, depth: 0, expired: false };

/** A task under way, with what is around it. */
export interface ActivityPlace<T extends Task = Task, View extends RunView = RunView> {
  readonly run: View;
  readonly task: T;
  readonly activity: Activity;
  readonly scope: TaskScope;
}

/** Whether a time limit passed around what the place does: only the ends of its calls count. */
export function isExpired({ scope, activity }: ActivityPlace): boolean {
  return scope.expired || activity.expired === true;
}

/** The scope of tasks inside the place. */
export function innerScope(place: ActivityPlace, more: Partial<TaskScope> = {}): TaskScope {
  return { ...place.scope, depth: place.scope.depth + 1, expired: isExpired(place), ...more };
}
