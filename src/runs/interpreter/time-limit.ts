import type { Duration } from '#workflows/workflow.ts';
import type { JsonValue } from './state/json-value.ts';
import type { Timed } from './state/run-state.ts';
import type { ActivityLocation, TasksInside } from './state/view.ts';
import { standardError, type TaskError } from './task-error.ts';
import { atTask, type Turn } from './turn.ts';

/** The moment `iso` after `now`, in milliseconds. Undefined where it is no ISO 8601 duration, is negative, or ends beyond all calendars. */
export function momentAfter(now: number, iso: string | undefined): number | undefined {
  if (iso === undefined) return undefined;
  try {
    const duration = Temporal.Duration.from(iso);
    if (duration.sign < 0) return undefined;
    return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO('UTC').add(duration).epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The ISO 8601 text of a duration. `value`: the result of its expression, if it has one. Undefined where that is no text. */
export function isoOf(duration: Duration, value: JsonValue | undefined): string | undefined {
  if ('iso' in duration) return duration.iso;
  const read: unknown = JSON.parse(value?.text ?? 'null');
  return typeof read === 'string' ? read : undefined;
}

export function limitPasses(run: Turn, timed: Timed): boolean {
  return timed.expired !== true && timed.deadline !== undefined && run.now >= timed.deadline;
}

/**
 * What follows from a time limit that passed. `wait`: calls in flight are aborted, and their ends come first. `unknown`: one of them may have
 * happened, so that this is the error.
 */
export function limitVerdict(run: Turn, inside: TasksInside): 'wait' | 'unknown' | 'timeout' {
  if (inside.some((child) => run.tasks.inFlight({ run, ...child }) > 0)) return 'wait';
  return inside.some((child) => run.tasks.hasUnknown({ run, ...child })) ? 'unknown' : 'timeout';
}

export function timeoutError({ task }: Pick<ActivityLocation, 'task'>, detail: string): TaskError {
  return atTask(task, standardError('timeout', 'Time limit passed', detail), '/timeout');
}
