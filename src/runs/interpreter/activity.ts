import type { Task } from '#workflows/workflow.ts';
import { behaviourOf } from './kinds/task-behaviours.ts';
import type { EffectSink } from './kinds/task-kind.ts';
import type { JsonValue } from './state/json-value.ts';
import type { Activity, OutsideWork, Work } from './state/run-state.ts';
import { type ActivityLocation, isExpired, type TaskScope, type TasksInside } from './state/view.ts';
import { advanceEntering, advanceLeaving, afterWork, deadlineOf, enter, enteringEffects, leavingEffects } from './task-flow.ts';
import { limitPasses, limitVerdict, timeoutError } from './time-limit.ts';
import {
  limitFault,
  maxLevels,
  maxTasks,
  type Progress,
  type StepEvent,
  type TaskRunner,
  type Turn,
  type TurnLocation,
} from './turn.ts';

export const taskRunner: TaskRunner = { begin: beginTask, advance: advanceTask, drop, inFlight, hasUnknown };

function beginTask(run: Turn, task: Task, raw: JsonValue, scope: TaskScope): Progress<Activity> {
  if (scope.depth > maxLevels) return limitFault(task, `Tasks are nested in more than ${maxLevels} levels.`);
  if (run.created >= maxTasks) return limitFault(task, `The run has more than ${maxTasks.toLocaleString('en')} tasks.`);
  run.created += 1;
  return beginActivity(run, task, raw, scope, run.created);
}

export function beginActivity(run: Turn, task: Task, raw: JsonValue, scope: TaskScope, id: number): Progress<Activity> {
  const { iteration, attempt } = scope;
  const begun = run.now;
  // The stage is replaced at once.
  const stage = { kind: 'enter', wait: 0 } as const;
  const deadline = deadlineOf(task, begun);
  const activity = { id, createdAt: run.at, begun, iteration, attempt, raw, input: raw, stage, deadline };
  const place = { run, task, activity, scope };
  run.note(place, 'created');
  return enter(place);
}

const afterLimit: ReadonlySet<StepEvent['kind']> = new Set(['callEnded', 'childEnded', 'failed', 'held', 'settled', 'decided']);

/** Answers the same activity where the event changes nothing in it. */
function advanceTask(place: TurnLocation, event: StepEvent): Progress<Activity> {
  const { run, activity, scope } = place;
  if (isExpired(place) && !afterLimit.has(event.kind)) return { kind: 'busy', state: activity };
  if (event.kind === 'timePassed' && limitPasses(run, activity)) return passLimit(place);
  const progress = advanceStage(event.kind === 'settled' ? withoutPassedLimit(place) : place, event);
  const isAnswered = activity.expired === true && !scope.expired && progress.kind === 'busy' && event.kind !== 'settled';
  return isAnswered ? passLimit({ ...place, activity: progress.state }) : progress;
}

function withoutPassedLimit(place: TurnLocation): TurnLocation {
  return place.activity.expired === true && hasUnknown(place) ? withoutLimit(place) : place;
}

function withoutLimit(place: TurnLocation): TurnLocation {
  return { ...place, activity: { ...place.activity, expired: undefined, deadline: undefined } };
}

function passLimit(place: TurnLocation): Progress<Activity> {
  const { run, activity } = place;
  switch (limitVerdict(run, [place])) {
    case 'wait':
      return { kind: 'busy', state: activity.expired === true ? activity : { ...activity, expired: true } };
    case 'unknown':
      return advanceStage(withoutLimit(place), { kind: 'settled', at: run.at });
    default: {
      for (const child of childrenOf(place)) drop({ run, ...child });
      return afterWork(place, { kind: 'faulted', error: timeoutError(place, 'the task took longer than its timeout') });
    }
  }
}

function advanceStage(place: TurnLocation, event: StepEvent): Progress<Activity> {
  const { activity } = place;
  const { stage } = activity;
  if (stage.kind === 'work') return advanceWork(place, stage.work, event);
  if (isExpired(place)) return { kind: 'busy', state: activity };
  return 'output' in stage ? advanceLeaving(place, stage, event) : advanceEntering(place, stage, event);
}

function advanceWork(place: TurnLocation, work: Work, event: StepEvent): Progress<Activity> {
  const inside = withRequestId(place, work, event);
  const progress = behaviourOf(place.task).advance?.(inside, work, event) ?? { kind: 'busy', state: work };
  if (progress.kind === 'busy' && progress.state === work && inside === place) {
    return { kind: 'busy', state: place.activity, unknown: progress.unknown };
  }
  return afterWork(inside, progress);
}

/** A call that ended gives its request id to the task. */
function withRequestId(place: TurnLocation, work: Work, event: StepEvent): TurnLocation {
  const { run, activity } = place;
  if (event.kind !== 'callEnded' || work.kind !== 'outside' || run.target !== work.wait) return place;
  return event.requestId === undefined ? place : { ...place, activity: { ...activity, requestId: event.requestId } };
}

function childrenOf(place: ActivityLocation): TasksInside {
  const { task, activity } = place;
  if (activity.stage.kind !== 'work') return [];
  return behaviourOf(task).children?.(place, activity.stage.work) ?? [];
}

export function outsideWork({ activity: { stage } }: Pick<ActivityLocation, 'activity'>): OutsideWork | undefined {
  return stage.kind === 'work' && stage.work.kind === 'outside' ? stage.work : undefined;
}

function inFlight(place: ActivityLocation): number {
  const work = outsideWork(place);
  if (work !== undefined) return work.answer === undefined && work.undecided === undefined ? 1 : 0;
  return childrenOf(place).reduce((count, child) => count + inFlight({ ...place, ...child }), 0);
}

function hasUnknown(place: ActivityLocation): boolean {
  const work = outsideWork(place);
  if (work !== undefined) return work.undecided !== undefined || work.answer?.kind === 'unknown';
  return childrenOf(place).some((child) => hasUnknown({ ...place, ...child }));
}

/** Calls that people are to decide on. A `catch` that is still asked about its error hides them. */
export function undecidedIn(place: ActivityLocation): TasksInside {
  const work = outsideWork(place);
  if (work !== undefined) return work.undecided === undefined ? [] : [place];
  const { stage } = place.activity;
  const isJudging = stage.kind === 'work' && stage.work.kind === 'try' && stage.work.stage.kind === 'judge';
  return isJudging ? [] : childrenOf(place).flatMap((child) => undecidedIn({ ...place, ...child }));
}

/** Visits the task and all in it, the innermost first. */
export function visit<P extends ActivityLocation>(place: P, look: (place: P) => void): void {
  for (const child of childrenOf(place)) visit({ ...place, ...child }, look);
  look(place);
}

export function drop(place: TurnLocation): void {
  visit(place, (inner) => {
    const error = outsideWork(inner)?.undecided;
    if (error === undefined) inner.run.note(inner, 'cancelled');
    else inner.run.note(inner, 'faulted', { error });
  });
}

/** Hands what the task and all in it wait for to the sink. After a time limit passed, only calls are waited for. */
export function collectEffects(place: ActivityLocation, sink: EffectSink): void {
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
