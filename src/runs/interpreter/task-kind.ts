import type { Task } from '#workflows/workflow.ts';
import type { Effect } from './effects.ts';
import type { JsonValue } from './json-value.ts';
import type { Work } from './run-state.ts';
import type { WorkExpression } from './task-programs.ts';
import type { Progress, StepEvent, TurnPlace } from './turn.ts';
import type { ActivityPlace } from './view.ts';

/** The status of a run that waits for nothing else. Default: running. */
export type WhileWaiting = 'running' | 'waiting';

/** Takes what a task waits for. `make` is called only for what the engine is to have. */
export interface EffectSink {
  add(wait: number, make: (key: string) => Effect, whileWaiting?: WhileWaiting): void;
  /** `at`: on the run's own clock. */
  timer(at: number): void;
  /** A time limit of what waits for something else. */
  limit(at: number): void;
  /** The run goes on at once, in a step of its own. */
  goOn(): void;
}

/** What one kind of tasks does for its work, between the input and the output that all kinds have. */
export interface TaskBehaviour<T extends Task, W extends Work = never> {
  /** Evaluated on the input; `begin` gets the values in this order. */
  expressions?(task: T): readonly WorkExpression[];
  begin(place: TurnPlace<T>, values: readonly JsonValue[]): Progress<W>;
  /** Absent where the work ends in the step in which it begins. Answers the same work where the event is not for it. */
  advance?(place: TurnPlace<T>, work: W, event: StepEvent): Progress<W>;
  /** What the work itself waits for, without the tasks in it. */
  effects?(place: ActivityPlace<T>, work: W, sink: EffectSink): void;
  /** The tasks in it that are under way. */
  children?(place: ActivityPlace<T>, work: W): readonly Omit<ActivityPlace, 'run'>[];
}
