import { type BatchTask, type CallTask, maxItems, outcomeUnknown, type RunTask } from '#workflows/workflow.ts';
import type { Argument } from '../effects.ts';
import { evaluation } from '../evaluation.ts';
import { constantOf, enclose, isIdentity, mentions, oncePer, ProgramBuilder } from '../programs.ts';
import { JsonValue } from '../state/json-value.ts';
import { isOutcome, type OutsideResult } from '../state/run-events.ts';
import type { OutsideWork } from '../state/run-state.ts';
import { type ActivityLocation, isExpired } from '../state/view.ts';
import { standardError, unknownOutcome } from '../task-error.ts';
import { atTask, expressionError, fault, type Progress, type StepEvent, type TurnLocation } from '../turn.ts';
import type { TaskBehaviour } from './task-kind.ts';

/** The arguments are evaluated with the call itself. */
export const callBehaviour: TaskBehaviour<CallTask, OutsideWork> = {
  begin: (place) => beginOutside(place, 1),
  advance: advanceOutside,
  effects: (place, work, sink) => {
    if (!isUnderWay(work)) return;
    const { task } = place;
    sink.add(
      work.wait,
      (key) => ({ kind: 'call', key, ...namesOf(place, work), function: task.function, with: argumentsOf(place) }),
      task.function === 'approval',
    );
  },
};

export function argumentsOf(place: ActivityLocation<CallTask>): Argument {
  const { task, activity } = place;
  const constant = constantOf(task.with);
  if (constant !== undefined) return { value: constant.text };
  if (isIdentity(task.with)) return { value: activity.input.text };
  return { evaluation: evaluation(place, argumentProgram(task), activity.input) };
}

const argumentProgram = oncePer((task: CallTask) => {
  const builder = new ProgramBuilder();
  builder.addText('with', `. as $input | ${enclose(task.with.jq)}`, mentions(task.with.jq), ['input']);
  return builder.program;
});

export const runBehaviour: TaskBehaviour<RunTask, OutsideWork> = {
  expressions: (task) => [{ label: 'run.workflow.input', expression: task.with ?? { jq: '.' } }],
  begin: (place, [input = place.activity.input]) => beginOutside(place, 1, input),
  advance: (place, work, event) => {
    const progress = advanceOutside(place, work, event);
    const begun = progress.kind === 'ended' && !place.task.await && event.kind === 'childEnded';
    return begun ? { kind: 'ended', output: place.activity.input } : progress;
  },
  effects: (place, work, sink) => {
    if (!isUnderWay(work)) return;
    const { task, activity } = place;
    const { workflow, version, await: isAwaited } = task;
    const { text: input } = work.input ?? activity.input;
    const child = { workflow, version, input, await: isAwaited };
    sink.add(work.wait, (key) => ({ kind: 'child', key, ...namesOf(place, work), ...child }));
  },
};

function isUnderWay({ answer, undecided }: OutsideWork): boolean {
  return answer === undefined && undecided === undefined;
}

function namesOf(place: ActivityLocation, { attempt }: OutsideWork) {
  const { activity, task, scope } = place;
  return { activity: activity.id, attempt, reference: task.reference, turn: scope.turn ?? [], abort: isExpired(place) };
}

type OutsidePlace = TurnLocation<BatchTask | CallTask | RunTask>;

/** Its number of attempts makes it a call of its own. */
function beginOutside({ run }: OutsidePlace, attempt: number, input?: JsonValue): Progress<OutsideWork> {
  return { kind: 'busy', state: { kind: 'outside', wait: run.nextWait(), attempt, input } };
}

function advanceOutside(place: OutsidePlace, work: OutsideWork, event: StepEvent): Progress<OutsideWork> {
  const { answer, undecided, wait } = work;
  if (event.kind === 'decided') return answer === undefined ? takeDecision(place, work, event) : takeResult(place, work, answer);
  if (event.kind === 'settled') {
    return answer?.kind === 'unknown' ? takeResult(place, work, answer) : { kind: 'busy', state: work };
  }
  const result = place.run.target === wait ? resultOf(event) : undefined;
  if (result === undefined) return { kind: 'busy', state: work };
  if (undecided !== undefined) return takeLateResult(place, work, result);
  return isExpired(place) ? { kind: 'busy', state: { ...work, answer: result } } : takeResult(place, work, result);
}

/** An outcome that arrives after all decides as people would. */
function takeLateResult(place: OutsidePlace, work: OutsideWork, result: OutsideResult): Progress<OutsideWork> {
  if (!isOutcome(result)) return { kind: 'busy', state: work };
  place.run.note(place, 'resumed');
  return takeResult(place, work, result);
}

function resultOf(event: StepEvent): OutsideResult | undefined {
  if (event.kind === 'callEnded' || event.kind === 'childEnded') return event.result;
  if (event.kind === 'held') return { kind: 'aborted' };
  return event.kind === 'failed' ? { kind: 'error', error: event.error } : undefined;
}

function takeResult(place: OutsidePlace, work: OutsideWork, result: OutsideResult): Progress<OutsideWork> {
  switch (result.kind) {
    case 'ok':
      return { kind: 'ended', output: new JsonValue(result.output) };
    case 'error':
      if (result.error.type !== outcomeUnknown) return fault(place.task, result.error);
      return awaitDecision(place, work, result.error.detail ?? 'the outcome is unknown');
    case 'unknown':
      return awaitDecision(place, work, result.detail);
    default:
      return beginOutside(place, work.attempt, work.input);
  }
}

/** It stays in the tree: where no `catch` takes the error, people decide, and it goes on from here. */
function awaitDecision(place: OutsidePlace, { wait, attempt, input }: OutsideWork, detail: string): Progress<OutsideWork> {
  const error = atTask(place.task, unknownOutcome(detail));
  return { kind: 'busy', state: { kind: 'outside', wait, attempt, input, undecided: error }, unknown: error };
}

function takeDecision(
  place: OutsidePlace,
  work: OutsideWork,
  decision: StepEvent & { readonly kind: 'decided' },
): Progress<OutsideWork> {
  if (work.undecided === undefined || decision.activity !== place.activity.id) return { kind: 'busy', state: work };
  place.run.note(place, 'resumed');
  switch (decision.as) {
    case 'done':
      return { kind: 'ended', output: new JsonValue(decision.output ?? 'null') };
    case 'refused':
      return fault(place.task, decision.error ?? standardError('authorization', 'The output was refused'));
    case 'failed':
      return fault(place.task, standardError('communication', 'The call failed', `decided by people: ${decision.reason}`));
    default:
      place.run.note(place, 'retried');
      return beginOutside(place, work.attempt + 1, work.input);
  }
}

/** The items leave the state once the store has them apart from it. */
export const batchBehaviour: TaskBehaviour<BatchTask, OutsideWork> = {
  expressions: (task) => [{ label: 'with.items', expression: task.items }],
  begin: (place, [items = place.activity.input]) => {
    const { spans } = items;
    if (spans === undefined)
      return fault(place.task, expressionError('with.items', `gives ${items.text.slice(0, 100)}, which is no array`));
    if (spans.length <= maxItems) return beginOutside(place, 1, items);
    const most = maxItems.toLocaleString('en');
    const detail = `The list has ${spans.length.toLocaleString('en')} items; a batch has at most ${most}.`;
    return fault(place.task, standardError('runtime', 'Too many items', detail));
  },
  advance: (place, work, event) => {
    const isBegun = event.kind === 'batchBegun' && place.run.target === work.wait;
    return isBegun ? { kind: 'busy', state: { ...work, input: undefined } } : advanceOutside(place, work, event);
  },
  effects: (place, work, sink) => {
    if (!isUnderWay(work)) return;
    const { workflow, version, parallel, canary, stopAfter, failures } = place.task;
    const rules = { parallel, canary, failures, ...(stopAfter !== undefined && { stopAfter }) };
    const batch = { workflow, version, ...rules, items: work.input };
    sink.add(work.wait, (key) => ({ kind: 'batch', key, ...namesOf(place, work), ...batch }));
  },
};
