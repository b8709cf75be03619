import { type Duration, type Expression, outcomeUnknown, type Retry, type TryTask } from '#workflows/workflow.ts';
import { evaluate, readEvaluated } from '../evaluation.ts';
import { durationExpressions, enclose, mentions, oncePer, ProgramBuilder, type Slot, valueIn } from '../programs.ts';
import { isTrue, type JsonValue, nullValue } from '../state/json-value.ts';
import type { AttemptStage, JudgingStage, ListPosition, TryStage, TryWork } from '../state/run-state.ts';
import { type ActivityLocation, innerScope, isExpired, type TaskScope, type TasksInside } from '../state/view.ts';
import { errorValue, matchesFilter, type TaskError } from '../task-error.ts';
import { isoOf, limitPasses, limitVerdict, momentAfter, timeoutError } from '../time-limit.ts';
import { expressionError, fault, type Progress, type StepEvent, type Turn, type TurnLocation, wrapProgress } from '../turn.ts';
import { advanceList, beginList, type ListCursor, listChildren, listEffects } from './list-tasks.ts';
import type { TaskBehaviour } from './task-kind.ts';

export const tryBehaviour: TaskBehaviour<TryTask, TryWork> = {
  expressions: (task) => limits(task).flatMap(({ expression }) => expression),
  begin: (place, values) => {
    const { now } = place.run;
    const found = limitTexts(place.task, values);
    const wrong = found.find(({ iso }) => momentAfter(now, iso) === undefined);
    if (wrong !== undefined) return fault(place.task, expressionError(wrong.label, 'gives no ISO 8601 duration'));
    const durations = Object.fromEntries(found.map(({ name, iso }) => [name, iso]));
    return beginAttempt(place, { kind: 'try', attempt: 1, since: now, ...durations });
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
        const inside = catchList(place, stage.error);
        return wrapProgress(advanceList(inside, stage.list, event), stage.list, work, (list) => at(work, { ...stage, list }));
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
        const { error, attempt, wait } = stage;
        const inside = { ...place, scope: errorScope(place, error) };
        const { input } = place.activity;
        sink.add(wait, evaluate(inside, catchProgram(place.task).program, errorValue(error), { input }));
        listEffects(attempt?.list, sink);
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

type StagelessTry = Omit<TryWork, 'stage'>;

function unchanged(work: TryWork): Progress<TryWork> {
  return { kind: 'busy', state: work };
}

function at(work: StagelessTry, stage: TryStage): TryWork {
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

function nextAttempt(place: TurnLocation<TryTask>, work: StagelessTry): Progress<TryWork> {
  const attempt = work.attempt + 1;
  place.run.note(place, 'retried', { attempt });
  return beginAttempt(place, { ...work, attempt });
}

function beginAttempt(place: TurnLocation<TryTask>, work: StagelessTry): Progress<TryWork> {
  const { run, activity } = place;
  const deadline = momentAfter(run.now, work.attemptDuration);
  return afterAttempt(place, work, endOf(beginList(listOf(place, work.attempt), activity.input), { deadline }));
}

function afterAttempt(place: TurnLocation<TryTask>, work: StagelessTry | TryWork, end: AttemptEnd): Progress<TryWork> {
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
function judge(place: TurnLocation<TryTask>, work: StagelessTry, error: TaskError, attempt?: AttemptStage): Progress<TryWork> {
  const { run, task } = place;
  if (!matchesFilter(error, task.catch.errors)) return passOn(work, error, attempt);
  if (catchProgram(task).program.expressions.length === 0) return decide(place, work, { error, attempt }, verdictOf(task, []));
  return { kind: 'busy', state: at(work, { kind: 'judge', wait: run.nextWait(), error, attempt }) };
}

function passOn(work: StagelessTry, error: TaskError, attempt: AttemptStage | undefined): Progress<TryWork> {
  return attempt === undefined ? { kind: 'faulted', error } : { kind: 'busy', state: at(work, attempt), unknown: error };
}

function advanceJudging(place: TurnLocation<TryTask>, work: TryWork, stage: JudgingStage, event: StepEvent): Progress<TryWork> {
  const judged = readEvaluated(place.run, stage.wait, catchProgram(place.task).program, event);
  if (judged !== undefined && !isExpired(place)) {
    if ('values' in judged) return decide(place, work, stage, verdictOf(place.task, judged.values));
    return stage.attempt === undefined ? fault(place.task, judged.error) : passOn(work, stage.error, stage.attempt);
  }
  if (stage.attempt === undefined) return unchanged(work);
  const end = advanceAttempt(place, work, stage.attempt, event);
  if (end.kind === 'busy' || (end.kind === 'unknown' && !end.passes)) {
    return end.stage === stage.attempt ? unchanged(work) : { kind: 'busy', state: at(work, { ...stage, attempt: end.stage }) };
  }
  return afterAttempt(place, work, end);
}

function decide(
  place: TurnLocation<TryTask>,
  work: StagelessTry,
  { error, attempt }: Pick<JudgingStage, 'error' | 'attempt'>,
  verdict: Verdict,
): Progress<TryWork> {
  const { retry, tasks } = place.task.catch;
  const isUnknown = error.type === outcomeUnknown;
  // What no retry may repeat and no task handles is not swallowed: people decide.
  if (!verdict.caught || (isUnknown && retry !== undefined && tasks === undefined)) return passOn(work, error, attempt);
  if (attempt !== undefined) dropAttempt(place, work, attempt);
  const mayRetry = retry !== undefined && !isUnknown && verdict.retry;
  return (mayRetry ? retryWithinLimits(place, work, retry, verdict) : undefined) ?? handle(place, work, error);
}

function retryWithinLimits(
  place: TurnLocation<TryTask>,
  work: StagelessTry,
  retry: Retry,
  verdict: Verdict,
): Progress<TryWork> | undefined {
  const { run, task } = place;
  const { attempt, since, duration } = work;
  const delay = retryDelay(run, retry, attempt, verdict);
  if (delay === undefined) return fault(task, expressionError('catch.retry', 'a duration is none in ISO 8601'));
  if (attempt > (retry.limit.count ?? Infinity) || run.now + delay > (momentAfter(since, duration) ?? Infinity)) return undefined;
  if (delay === 0 && run.mayBegin()) return nextAttempt(place, work);
  return { kind: 'busy', state: at(work, { kind: 'delay', wait: run.nextWait(), at: run.now + delay }) };
}

/** No retry is due. An error that a retry alone was to handle goes on; one that nothing was to handle ends here. */
function handle(place: TurnLocation<TryTask>, work: StagelessTry, error: TaskError): Progress<TryWork> {
  const { retry, tasks } = place.task.catch;
  if (tasks === undefined) {
    return retry === undefined ? { kind: 'ended', output: place.activity.input } : { kind: 'faulted', error };
  }
  const progress = beginList(catchList(place, error), place.activity.input);
  return wrapProgress(progress, undefined, undefined, (list) => at(work, { kind: 'catch', error, list }));
}

function catchList(place: TurnLocation<TryTask>, error: TaskError): ListCursor {
  return { turn: place.run, tasks: place.task.catch.tasks ?? [], scope: catchScope(place, error) };
}

function catchScope(place: ActivityLocation<TryTask>, error: TaskError): TaskScope {
  return innerScope(place, { variables: errorScope(place, error).variables });
}

function errorScope({ scope, task }: ActivityLocation<TryTask>, error: TaskError): TaskScope {
  const variable = { name: task.catch.as, text: () => errorValue(error).text };
  return { ...scope, variables: [...scope.variables, variable] };
}

type AttemptEnd =
  | { readonly kind: 'busy'; readonly stage: AttemptStage }
  /** The outcome of a call in `attempt` is unknown. `passes`: it comes from a time limit further out, so that this `catch` has no say. */
  | { readonly kind: 'unknown'; readonly stage: AttemptStage; readonly error: TaskError; readonly passes: boolean }
  | { readonly kind: 'error'; readonly error: TaskError }
  | { readonly kind: 'over'; readonly progress: Exclude<Progress<never>, { readonly kind: 'busy' }> };

function advanceAttempt(place: TurnLocation<TryTask>, work: TryWork, stage: AttemptStage, event: StepEvent): AttemptEnd {
  if (event.kind === 'settled') return settle(place, work, stage, true);
  if (event.kind === 'timePassed' && limitPasses(place.run, stage)) return passLimit(place, work, stage);
  const progress = advanceList(listOf(place, work.attempt, stage), stage.list, event);
  if (progress.kind === 'busy' && progress.state === stage.list && progress.unknown === undefined) return { kind: 'busy', stage };
  const end = endOf(progress, stage);
  const isAnswered = stage.expired === true && !isExpired(place) && end.kind === 'busy';
  return isAnswered ? passLimit(place, work, end.stage) : end;
}

function endOf(progress: Progress<ListPosition>, { deadline, expired }: Omit<AttemptStage, 'kind' | 'list'>): AttemptEnd {
  if (progress.kind === 'busy') {
    const { state: list, unknown: error } = progress;
    const stage: AttemptStage = { kind: 'attempt', list, deadline, expired };
    return error === undefined ? { kind: 'busy', stage } : { kind: 'unknown', stage, error, passes: false };
  }
  if (progress.kind === 'faulted' && progress.final !== true) return { kind: 'error', error: progress.error };
  return { kind: 'over', progress };
}

function passLimit(place: TurnLocation<TryTask>, work: TryWork, stage: AttemptStage): AttemptEnd {
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
function settle(place: TurnLocation<TryTask>, work: TryWork, stage: AttemptStage, passes: boolean): AttemptEnd {
  const event: StepEvent = { kind: 'settled', at: place.run.at };
  const end = endOf(advanceList(listOf(place, work.attempt, stage), stage.list, event), {});
  if (end.kind === 'unknown') return { ...end, passes };
  return end.kind === 'busy' ? { ...end, stage: { ...stage, list: end.stage.list } } : end;
}

function attemptChildren(place: ActivityLocation<TryTask>, work: StagelessTry, stage: AttemptStage): TasksInside {
  return listChildren(place.task.tasks, stage.list, attemptScope(place, work.attempt, stage));
}

function dropAttempt(place: TurnLocation<TryTask>, work: StagelessTry, stage: AttemptStage): void {
  for (const child of attemptChildren(place, work, stage)) place.run.tasks.drop({ run: place.run, ...child });
}

function listOf(place: TurnLocation<TryTask>, attempt: number, stage?: AttemptStage): ListCursor {
  return { turn: place.run, tasks: place.task.tasks, scope: attemptScope(place, attempt, stage) };
}

function attemptScope(place: ActivityLocation<TryTask>, attempt: number, stage?: AttemptStage): TaskScope {
  return innerScope(place, { attempt, expired: isExpired(place) || stage?.expired === true });
}

interface Verdict {
  readonly caught: boolean;
  readonly retry: boolean;
  /** Of the delay, and of both ends of the jitter. */
  readonly durations: readonly (JsonValue | undefined)[];
}

/** All expressions about an error, which is their `.`. One that an earlier answer makes needless gives null. Durations see the input of `try`. */
const catchProgram = oncePer((task: TryTask) => {
  const builder = new ProgramBuilder();
  const { retry, when, exceptWhen } = task.catch;
  const caught = condition([when, exceptWhen]);
  const retried = condition([retry?.when, retry?.exceptWhen]);
  const names = [when, exceptWhen, retry?.when, retry?.exceptWhen].flatMap((one) => (one === undefined ? [] : mentions(one.jq)));
  const both = [caught, retried].filter((jq) => jq !== undefined).join(' and ');
  const guard = (jq: string): string => (both === '' ? jq : `if ${both} then ${jq} else null end`);
  return {
    caught: caught === undefined ? undefined : builder.addText('catch.when', caught, names),
    retry: retried === undefined ? undefined : builder.addText('catch.retry.when', both, names),
    durations: durationsOf(retry).map((duration) => {
      const [found] = durationExpressions('catch.retry', duration);
      if (found === undefined) return undefined;
      const { jq } = found.expression;
      return builder.addText(found.label, guard(`$input | ${enclose(jq)}`), ['input', ...mentions(jq)]);
    }),
    program: builder.program,
  };
});

function condition([when, exceptWhen]: readonly (Expression | undefined)[]): string | undefined {
  const parts = [
    ...(when === undefined ? [] : [enclose(when.jq)]),
    ...(exceptWhen === undefined ? [] : [`(${enclose(exceptWhen.jq)} | not)`]),
  ];
  return parts.length === 0 ? undefined : `(true and ${parts.join(' and ')})`;
}

function durationsOf(retry: Retry | undefined): readonly (Duration | undefined)[] {
  return [retry?.delay, retry?.jitter?.from, retry?.jitter?.to];
}

/** `results` of the program; none where it has no expressions. */
function verdictOf(task: TryTask, results: readonly JsonValue[]): Verdict {
  const { caught, retry, durations } = catchProgram(task);
  const truth = (slot: Slot | undefined): boolean => slot === undefined || isTrue(valueIn(slot, results, nullValue));
  return {
    caught: truth(caught),
    retry: truth(retry),
    durations: durations.map((slot) => slot && valueIn(slot, results, nullValue)),
  };
}

/** Milliseconds until the next attempt. Undefined where a duration is none. */
function retryDelay(run: Turn, retry: Retry, attempt: number, { durations }: Verdict): number | undefined {
  const [delay, from, to] = durationsOf(retry).map((duration, index) => {
    if (duration === undefined) return 0;
    const at = momentAfter(run.now, isoOf(duration, durations[index]));
    return at === undefined ? undefined : at - run.now;
  });
  if (delay === undefined || from === undefined || to === undefined) return undefined;
  const jitter = retry.jitter === undefined ? 0 : from + run.random() * Math.max(0, to - from);
  const factor = { constant: 1, linear: attempt, exponential: 2 ** (attempt - 1) }[retry.backoff];
  return Math.min(maxDelay, Math.round(delay * factor + jitter));
}

/** Milliseconds: a hundred years, which an exponential backoff cannot pass. */
const maxDelay = 100 * 365 * 86_400_000;
