import { outcomeUnknown, type Retry, type TryTask } from '#workflows/workflow.ts';
import { catchProgram, retryDelay, type Verdict, verdictOf } from './catch-verdict.ts';
import { isoOf, momentAfter } from './durations.ts';
import type { JsonValue } from './json-value.ts';
import { evaluatedBy } from './results.ts';
import type { AttemptStage, CatchStage, JudgingStage, TryStage, TryWork } from './run-state.ts';
import { errorValue, matchesFilter, type TaskError } from './task-error.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { advanceList, beginList, type ListPlace, listChildren, listEffects } from './task-list.ts';
import { durationExpressions } from './task-programs.ts';
import { type AttemptEnd, advanceAttempt, attemptChildren, beginAttempt, dropAttempt } from './try-attempt.ts';
import { expressionError, faulted, type Progress, type StepEvent, type TurnPlace, wrapped } from './turn.ts';
import { evaluation } from './variables.ts';
import { type ActivityPlace, innerScope, isExpired, type TaskScope, type Variable } from './view.ts';

export const tryBehaviour: TaskBehaviour<TryTask, TryWork> = {
  expressions: (task) => limits(task).flatMap(({ expression }) => expression),
  begin: (place, values) => {
    const found = limitTexts(place.task, values);
    const wrong = found.find(({ iso }) => iso === undefined || momentAfter(place.run.now, iso) === undefined);
    if (wrong !== undefined) return faulted(place.task, expressionError(wrong.label, 'gives no ISO 8601 duration'));
    const durations = Object.fromEntries(found.map(({ name, iso }) => [name, iso]));
    return attemptIn(place, { kind: 'try', attempt: 1, since: place.run.now, ...durations });
  },
  advance: (place, work, event) => {
    const { stage } = work;
    switch (stage.kind) {
      case 'attempt':
        return afterAttempt(place, work, advanceAttempt(place, work, stage, event));
      case 'judge':
        return advanceJudging(place, work, stage, event);
      case 'delay':
        return event.kind === 'timePassed' && place.run.now >= stage.at ? nextAttempt(place, work) : unchanged(work);
      default: {
        const inside = catchList(place, stage);
        return wrapped(advanceList(inside, stage.list, event), stage.list, work, (list) => at(work, { ...stage, list }));
      }
    }
  },
  effects: (place, { stage }, sink) => {
    switch (stage.kind) {
      case 'attempt':
        listEffects(stage.list, sink);
        if (stage.deadline !== undefined && stage.expired !== true) sink.limit(stage.deadline);
        break;
      case 'judge': {
        const inside = { ...place, scope: errorScope(place, stage.error) };
        const { program } = catchProgram(place.task);
        const { input } = place.activity;
        const dot = errorValue(stage.error);
        sink.add(stage.wait, (key) => ({ kind: 'evaluate', key, ...evaluation(inside, program, dot, { input }) }));
        listEffects(stage.attempt?.list, sink);
        break;
      }
      case 'delay':
        sink.timer(stage.at);
        break;
      case 'catch':
        listEffects(stage.list, sink);
        break;
    }
  },
  children: (place, work) => {
    const { stage } = work;
    if (stage.kind === 'catch') return listChildren(place.task.catch.tasks ?? [], stage.list, catchScope(place, stage.error));
    const attempt = stage.kind === 'judge' ? stage.attempt : stage;
    return attempt?.kind === 'attempt' ? attemptChildren(place, work, attempt) : [];
  },
};

function unchanged(work: TryWork): Progress<TryWork> {
  return { kind: 'busy', state: work };
}

function at(work: Omit<TryWork, 'stage'>, stage: TryStage): TryWork {
  return { ...work, stage };
}

/** The limits of a retry that are durations, with the expression of each that has one. */
function limits({ catch: { retry } }: TryTask) {
  return (['attemptDuration', 'duration'] as const).flatMap((name) => {
    const duration = retry?.limit[name];
    const label = `catch.retry.limit.${name}`;
    return duration === undefined ? [] : [{ name, label, duration, expression: durationExpressions(label, duration) }];
  });
}

function limitTexts(task: TryTask, values: readonly JsonValue[]) {
  const rest = [...values];
  return limits(task).map(({ name, label, duration, expression }) => {
    const value = expression.length === 0 ? undefined : rest.shift();
    return { name, label, iso: isoOf(duration, value) };
  });
}

function attemptIn(place: TurnPlace<TryTask>, work: Omit<TryWork, 'stage'>): Progress<TryWork> {
  return afterAttempt(place, work, beginAttempt(place, work));
}

function nextAttempt(place: TurnPlace<TryTask>, work: Omit<TryWork, 'stage'>): Progress<TryWork> {
  const attempt = work.attempt + 1;
  place.run.note(place, 'retried', { attempt });
  return attemptIn(place, { ...work, attempt });
}

function afterAttempt(place: TurnPlace<TryTask>, work: Omit<TryWork, 'stage'> | TryWork, end: AttemptEnd): Progress<TryWork> {
  switch (end.kind) {
    case 'busy':
      return { kind: 'busy', state: 'stage' in work && work.stage === end.stage ? work : at(work, end.stage) };
    case 'over':
      return end.progress;
    case 'error':
      return judge(place, work, end.error);
    default:
      return end.passes ? passOn(work, end.error, end.stage) : judge(place, work, end.error, end.stage);
  }
}

/** Asks the `catch` about an error. `attempt`: its tasks are still there, because people decide where the `catch` does not take it. */
function judge(
  place: TurnPlace<TryTask>,
  work: Omit<TryWork, 'stage'>,
  error: TaskError,
  attempt?: AttemptStage,
): Progress<TryWork> {
  const { run, task } = place;
  if (!matchesFilter(error, task.catch.errors)) return passOn(work, error, attempt);
  if (catchProgram(task).program.expressions.length === 0) return decide(place, work, { error, attempt }, verdictOf(task, []));
  return { kind: 'busy', state: at(work, { kind: 'judge', wait: run.nextWait(), error, attempt }) };
}

function passOn(work: Omit<TryWork, 'stage'>, error: TaskError, attempt: AttemptStage | undefined): Progress<TryWork> {
  if (attempt === undefined) return { kind: 'faulted', error };
  return { kind: 'busy', state: at(work, attempt), unknown: error };
}

function advanceJudging(place: TurnPlace<TryTask>, work: TryWork, stage: JudgingStage, event: StepEvent): Progress<TryWork> {
  const judged = evaluatedBy(place.run, stage.wait, catchProgram(place.task).program, event);
  if (judged !== undefined && !isExpired(place)) {
    if ('values' in judged) return decide(place, work, stage, verdictOf(place.task, judged.values));
    return stage.attempt === undefined ? faulted(place.task, judged.error) : passOn(work, stage.error, stage.attempt);
  }
  if (stage.attempt === undefined) return unchanged(work);
  const end = advanceAttempt(place, work, stage.attempt, event);
  if (end.kind === 'busy' || (end.kind === 'unknown' && !end.passes)) {
    return end.stage === stage.attempt ? unchanged(work) : { kind: 'busy', state: at(work, { ...stage, attempt: end.stage }) };
  }
  return afterAttempt(place, work, end);
}

type Judged = Pick<JudgingStage, 'error' | 'attempt'>;

function decide(
  place: TurnPlace<TryTask>,
  work: Omit<TryWork, 'stage'>,
  { error, attempt }: Judged,
  verdict: Verdict,
): Progress<TryWork> {
  const { retry, tasks } = place.task.catch;
  const unknown = error.type === outcomeUnknown;
  // What no retry may repeat and no task handles is not swallowed: people decide.
  if (!verdict.caught || (unknown && retry !== undefined && tasks === undefined)) return passOn(work, error, attempt);
  if (attempt !== undefined) dropAttempt(place, at(work, attempt), attempt);
  const retried = retry !== undefined && !unknown && verdict.retry ? retryIn(place, work, retry, verdict) : undefined;
  return retried ?? handle(place, work, error);
}

/** Another attempt, if the limits allow one. */
function retryIn(
  place: TurnPlace<TryTask>,
  work: Omit<TryWork, 'stage'>,
  retry: Retry,
  verdict: Verdict,
): Progress<TryWork> | undefined {
  const delay = retryDelay(place.run, retry, work.attempt, verdict);
  if (delay === undefined) return faulted(place.task, expressionError('catch.retry', 'a duration is none in ISO 8601'));
  return mayRetry(place, work, delay) ? retryAfter(place, work, delay) : undefined;
}

function mayRetry(
  { run, task }: TurnPlace<TryTask>,
  { attempt, since, duration }: Omit<TryWork, 'stage'>,
  delay: number,
): boolean {
  const count = task.catch.retry?.limit.count;
  if (count !== undefined && attempt > count) return false;
  const latest = duration === undefined ? undefined : momentAfter(since, duration);
  return latest === undefined || run.now + delay <= latest;
}

function retryAfter(place: TurnPlace<TryTask>, work: Omit<TryWork, 'stage'>, delay: number): Progress<TryWork> {
  const { run } = place;
  if (delay === 0 && run.mayBegin()) return nextAttempt(place, work);
  return { kind: 'busy', state: at(work, { kind: 'delay', wait: run.nextWait(), at: run.now + delay }) };
}

/** No retry is due. An error that a retry alone was to handle goes on; one that nothing was to handle ends here. */
function handle(place: TurnPlace<TryTask>, work: Omit<TryWork, 'stage'>, error: TaskError): Progress<TryWork> {
  const { retry, tasks } = place.task.catch;
  if (tasks === undefined) {
    return retry === undefined ? { kind: 'ended', output: place.activity.input } : { kind: 'faulted', error };
  }
  const inside = { turn: place.run, tasks, scope: catchScope(place, error) };
  const progress = beginList(inside, place.activity.input);
  return wrapped(progress, undefined, undefined, (list) => at(work, { kind: 'catch', error, list }));
}

function catchList(place: TurnPlace<TryTask>, stage: CatchStage): ListPlace {
  return { turn: place.run, tasks: place.task.catch.tasks ?? [], scope: catchScope(place, stage.error) };
}

function catchScope(place: ActivityPlace<TryTask>, error: TaskError): TaskScope {
  const { variables } = errorScope(place, error);
  return innerScope(place, { variables });
}

/** The scope of expressions about the error. */
function errorScope({ scope, task }: ActivityPlace<TryTask>, error: TaskError): TaskScope {
  const variable: Variable = { name: task.catch.as, text: () => errorValue(error).text };
  return { ...scope, variables: [...scope.variables, variable] };
}
