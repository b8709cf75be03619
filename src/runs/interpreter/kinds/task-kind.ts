import type { Task } from '#workflows/workflow.ts';
import type { Effect } from '../effects.ts';
import type { WorkExpression } from '../programs.ts';
import type { JsonValue } from '../state/json-value.ts';
import type { Work } from '../state/run-state.ts';
import type { ActivityLocation, TasksInside } from '../state/view.ts';
import type { Progress, StepEvent, TurnLocation } from '../turn.ts';

export interface EffectSink {
  /** `make` is called only for what the engine is to have. `isIdle`: a run that waits for such things alone has the status `waiting`. */
  add(wait: number, make: (key: string) => Effect, isIdle?: boolean): void;
  /** `at`: on the run's own clock. */
  timer(at: number): void;
  /** A time limit of what waits for something else. */
  limit(at: number): void;
  /** The run goes on at once, in a step of its own. */
  goOn(): void;
}

/** The work of one kind of tasks, between the input and the output that all kinds have. */
export interface TaskBehaviour<T extends Task, W extends Work = never> {
  /** Evaluated on the input; `begin` gets the values in this order. */
  expressions?(task: T): readonly WorkExpression[];
  begin(place: TurnLocation<T>, values: readonly JsonValue[]): Progress<W>;
  /** Absent where the work ends in the step in which it begins. Answers the same work where the event is not for it. */
  advance?(place: TurnLocation<T>, work: W, event: StepEvent): Progress<W>;
  /** What the work waits for, apart from the tasks in it. */
  effects?(place: ActivityLocation<T>, work: W, sink: EffectSink): void;
  children?(place: ActivityLocation<T>, work: W): TasksInside;
}
