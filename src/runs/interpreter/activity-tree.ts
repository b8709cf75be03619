import { enteringEffects } from './entering.ts';
import { leavingEffects } from './leaving.ts';
import type { OutsideWork } from './run-state.ts';
import { behaviourOf } from './task-behaviours.ts';
import type { EffectSink } from './task-kind.ts';
import type { Inside } from './time-limit.ts';
import type { TurnPlace } from './turn.ts';
import { type ActivityPlace, isExpired } from './view.ts';

/** The tasks in a task that are under way. What ended is not among them. */
export function childrenOf(place: ActivityPlace): Inside {
  const { task, activity } = place;
  if (activity.stage.kind !== 'work') return [];
  return behaviourOf(task).children?.(place, activity.stage.work) ?? [];
}

function outsideWork({ activity }: Pick<ActivityPlace, 'activity'>): OutsideWork | undefined {
  const { stage } = activity;
  return stage.kind === 'work' && stage.work.kind === 'outside' ? stage.work : undefined;
}

export function inFlight(place: ActivityPlace): number {
  const work = outsideWork(place);
  if (work !== undefined) return work.answer === undefined && work.undecided === undefined ? 1 : 0;
  return childrenOf(place).reduce((count, child) => count + inFlight({ ...place, ...child }), 0);
}

/** Whether the task has a call whose outcome is unknown. */
export function hasUnknown(place: ActivityPlace): boolean {
  const work = outsideWork(place);
  if (work !== undefined) return work.undecided !== undefined || work.answer?.kind === 'unknown';
  return childrenOf(place).some((child) => hasUnknown({ ...place, ...child }));
}

/** Calls that people are to decide on: no `catch` may take them any more. */
export function undecidedIn(place: ActivityPlace): readonly Omit<ActivityPlace, 'run'>[] {
  const work = outsideWork(place);
  if (work !== undefined) return work.undecided === undefined ? [] : [place];
  if (isJudging(place)) return [];
  return childrenOf(place).flatMap((child) => undecidedIn({ ...place, ...child }));
}

/** Whether a `catch` is asked about an error of the tasks in it. */
function isJudging({ activity: { stage } }: ActivityPlace): boolean {
  return stage.kind === 'work' && stage.work.kind === 'try' && stage.work.stage.kind === 'judge';
}

/** Visits the task and all in it, the innermost first. */
export function visit<P extends ActivityPlace>(place: P, look: (place: P) => void): void {
  for (const child of childrenOf(place)) visit({ ...place, ...child }, look);
  look(place);
}

export function drop(place: TurnPlace): void {
  visit(place, (inner) => {
    const error = outsideWork(inner)?.undecided;
    if (error === undefined) inner.run.note(inner, 'cancelled');
    else inner.run.note(inner, 'faulted', { error });
  });
}

/** Hands what the task and all in it wait for to the sink. After a time limit passed, only calls are waited for. */
export function collectEffects(place: ActivityPlace, sink: EffectSink): void {
  const { task, activity } = place;
  const { stage } = activity;
  if (activity.deadline !== undefined && !isExpired(place)) sink.limit(activity.deadline);
  if (stage.kind === 'work') {
    if (!isExpired(place) || stage.work.kind === 'outside') behaviourOf(task).effects?.(place, stage.work, sink);
    for (const child of childrenOf(place)) collectEffects({ ...place, ...child }, sink);
  } else if (isExpired(place)) return;
  else if ('output' in stage) leavingEffects(place, stage, sink);
  else enteringEffects(place, stage, sink);
}
