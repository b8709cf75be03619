import type { Task } from '#workflows/workflow.ts';
import { childrenOf, drop, hasUnknown, inFlight } from './activity-tree.ts';
import { advanceEntering, deadlineOf, enter } from './entering.ts';
import type { JsonValue } from './json-value.ts';
import { advanceLeaving, afterWork } from './leaving.ts';
import type { Activity, Work } from './run-state.ts';
import { behaviourOf } from './task-behaviours.ts';
import { limitPasses, limitVerdict, timeoutError } from './time-limit.ts';
import {
  limitFault,
  mostLevels,
  mostTasks,
  type Progress,
  type StepEvent,
  type TaskRunner,
  type Turn,
  type TurnPlace,
} from './turn.ts';
import { isExpired, type TaskScope } from './view.ts';

export const taskRunner: TaskRunner = { begin: beginTask, advance: advanceTask, drop, inFlight, hasUnknown };

function beginTask(run: Turn, task: Task, raw: JsonValue, scope: TaskScope): Progress<Activity> {
  if (scope.depth > mostLevels) return limitFault(task, `Tasks are nested in more than ${mostLevels} levels.`);
  if (run.created >= mostTasks) return limitFault(task, `The run has more than ${mostTasks.toLocaleString('en')} tasks.`);
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

/** Answers the same activity where the event changes nothing in it. */
function advanceTask(place: TurnPlace, event: StepEvent): Progress<Activity> {
  const { run, activity, scope } = place;
  if (isExpired(place) && !countsAfterLimit(event)) return { kind: 'busy', state: activity };
  if (event.kind === 'timePassed' && limitPasses(run, activity)) return limitPassed(place);
  const progress = advanceStage(event.kind === 'settled' ? withoutPassedLimit(place) : place, event);
  const answered = activity.expired === true && !scope.expired && progress.kind === 'busy' && event.kind !== 'settled';
  return answered ? limitPassed({ ...place, activity: progress.state }) : progress;
}

function countsAfterLimit({ kind }: StepEvent): boolean {
  const answers: readonly StepEvent['kind'][] = ['callEnded', 'childEnded', 'failed', 'held', 'settled', 'decided'];
  return answers.includes(kind);
}

function withoutPassedLimit(place: TurnPlace): TurnPlace {
  const { activity } = place;
  if (activity.expired !== true || !hasUnknown(place)) return place;
  return { ...place, activity: { ...activity, expired: undefined, deadline: undefined } };
}

function limitPassed(place: TurnPlace): Progress<Activity> {
  const { run, activity } = place;
  switch (limitVerdict(run, [place])) {
    case 'wait':
      return { kind: 'busy', state: activity.expired === true ? activity : { ...activity, expired: true } };
    case 'unknown': {
      const inside = { ...place, activity: { ...activity, expired: undefined, deadline: undefined } };
      return advanceStage(inside, { kind: 'settled', at: run.at });
    }
    default: {
      for (const child of childrenOf(place)) drop({ run, ...child });
      return afterWork(place, { kind: 'faulted', error: timeoutError(place, 'the task took longer than its timeout') });
    }
  }
}

function advanceStage(place: TurnPlace, event: StepEvent): Progress<Activity> {
  const { activity } = place;
  const { stage } = activity;
  if (stage.kind === 'work') return advanceWork(place, stage.work, event);
  if (isExpired(place)) return { kind: 'busy', state: activity };
  return 'output' in stage ? advanceLeaving(place, stage, event) : advanceEntering(place, stage, event);
}

function advanceWork(place: TurnPlace, work: Work, event: StepEvent): Progress<Activity> {
  const inside = withRequestId(place, work, event);
  const progress = behaviourOf(place.task).advance?.(inside, work, event) ?? { kind: 'busy', state: work };
  if (progress.kind === 'busy' && progress.state === work && inside === place) {
    return { kind: 'busy', state: place.activity, unknown: progress.unknown };
  }
  return afterWork(inside, progress);
}

/** A call that ended gives its request id to the task. */
function withRequestId(place: TurnPlace, work: Work, event: StepEvent): TurnPlace {
  const { run, activity } = place;
  if (event.kind !== 'callEnded' || work.kind !== 'outside' || run.target !== work.wait) return place;
  return event.requestId === undefined ? place : { ...place, activity: { ...activity, requestId: event.requestId } };
}
