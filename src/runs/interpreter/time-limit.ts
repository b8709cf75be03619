import type { Timed } from './run-state.ts';
import { standardError, type TaskError } from './task-error.ts';
import { atTask, type Turn } from './turn.ts';
import type { ActivityPlace } from './view.ts';

/** The tasks inside a time limit. */
export type Inside = readonly Omit<ActivityPlace, 'run'>[];

/**
 * What follows from a time limit that passed. `wait`: calls in flight are aborted, and their ends come first. `unknown`: one of them may have
 * happened, so that this is the error. `timeout`: the plain error.
 */
type LimitVerdict = 'wait' | 'unknown' | 'timeout';

export function limitPasses(run: Turn, timed: Timed): boolean {
  return timed.expired !== true && timed.deadline !== undefined && run.now >= timed.deadline;
}

export function limitVerdict(run: Turn, inside: Inside): LimitVerdict {
  if (inside.some((child) => run.tasks.inFlight({ run, ...child }) > 0)) return 'wait';
  return inside.some((child) => run.tasks.hasUnknown({ run, ...child })) ? 'unknown' : 'timeout';
}

export function timeoutError({ task }: Pick<ActivityPlace, 'task'>, detail: string): TaskError {
  return atTask(task, standardError('timeout', 'Time limit passed', detail), '/timeout');
}
