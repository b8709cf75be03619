import type { TryTask } from '#workflows/workflow.ts';
import { momentAfter } from './durations.ts';
import type { AttemptStage, ListPosition, TryWork } from './run-state.ts';
import type { TaskError } from './task-error.ts';
import { advanceList, beginList, type ListPlace, listChildren } from './task-list.ts';
import { type Inside, limitPasses, limitVerdict, timeoutError } from './time-limit.ts';
import type { Progress, StepEvent, Turn, TurnPlace } from './turn.ts';
import { type ActivityPlace, innerScope, isExpired } from './view.ts';

/** What became of the tasks of a `try`. */
export type AttemptEnd =
  | { readonly kind: 'busy'; readonly stage: AttemptStage }
  /** The outcome of a call in `attempt` is unknown. `passes`: it comes from a time limit further out, so that this `catch` has no say. */
  | { readonly kind: 'unknown'; readonly stage: AttemptStage; readonly error: TaskError; readonly passes: boolean }
  | { readonly kind: 'error'; readonly error: TaskError }
  | { readonly kind: 'over'; readonly progress: Exclude<Progress<never>, { readonly kind: 'busy' }> };

export function beginAttempt(place: TurnPlace<TryTask>, work: Omit<TryWork, 'stage'>): AttemptEnd {
  const { run, activity } = place;
  const deadline = work.attemptDuration === undefined ? undefined : momentAfter(run.now, work.attemptDuration);
  return endOf(beginList(listOf(place, work.attempt), activity.input), { deadline });
}

export function advanceAttempt(place: TurnPlace<TryTask>, work: TryWork, stage: AttemptStage, event: StepEvent): AttemptEnd {
  const { run } = place;
  if (event.kind === 'settled') return settle(place, work, stage, true);
  if (event.kind === 'timePassed' && limitPasses(run, stage)) return limitPassed(place, work, stage);
  const progress = advanceList(listOf(place, work.attempt, stage), stage.list, event);
  if (progress.kind === 'busy' && progress.state === stage.list && progress.unknown === undefined) return { kind: 'busy', stage };
  const end = endOf(progress, stage);
  const answered = stage.expired === true && !isExpired(place) && end.kind === 'busy';
  return answered ? limitPassed(place, work, end.stage) : end;
}

function endOf(progress: Progress<ListPosition>, { deadline, expired }: Omit<AttemptStage, 'kind' | 'list'>): AttemptEnd {
  if (progress.kind === 'busy') {
    const stage: AttemptStage = { kind: 'attempt', list: progress.state, deadline, expired };
    return progress.unknown === undefined
      ? { kind: 'busy', stage }
      : { kind: 'unknown', stage, error: progress.unknown, passes: false };
  }
  if (progress.kind === 'faulted' && progress.final !== true) return { kind: 'error', error: progress.error };
  return { kind: 'over', progress };
}

function limitPassed(place: TurnPlace<TryTask>, work: TryWork, stage: AttemptStage): AttemptEnd {
  switch (limitVerdict(place.run, attemptChildren(place, work, stage))) {
    case 'wait':
      return { kind: 'busy', stage: { ...stage, expired: true } };
    case 'unknown':
      return settle(place, work, stage, false);
    default:
      dropAttempt(place, work, stage);
      return { kind: 'error', error: timeoutError(place, 'one attempt took longer than catch.retry.limit.attempt.duration') };
  }
}

/** The calls have ended, and one outcome is unknown: the tasks stay as they are, without the time limit. */
function settle(place: TurnPlace<TryTask>, work: TryWork, stage: AttemptStage, passes: boolean): AttemptEnd {
  const event: StepEvent = { kind: 'settled', at: place.run.at };
  const end = endOf(advanceList(listOf(place, work.attempt), stage.list, event), {});
  if (end.kind === 'unknown') return { ...end, passes };
  return end.kind === 'busy' ? { ...end, stage: { ...stage, list: end.stage.list } } : end;
}

/** The tasks of the attempt that are under way. */
export function attemptChildren(place: ActivityPlace<TryTask>, work: TryWork, stage: AttemptStage): Inside {
  return listChildren(place.task.tasks, stage.list, attemptScope(place, work.attempt, stage));
}

export function dropAttempt(place: TurnPlace<TryTask>, work: TryWork, stage: AttemptStage): void {
  for (const child of attemptChildren(place, work, stage)) place.run.tasks.drop({ run: place.run, ...child });
}

function listOf(place: TurnPlace<TryTask>, attempt: number, stage?: AttemptStage): ListPlace & { readonly turn: Turn } {
  return { turn: place.run, tasks: place.task.tasks, scope: attemptScope(place, attempt, stage) };
}

function attemptScope(place: ActivityPlace<TryTask>, attempt: number, stage?: AttemptStage): ListPlace['scope'] {
  return innerScope(place, { attempt, expired: isExpired(place) || stage?.expired === true });
}
