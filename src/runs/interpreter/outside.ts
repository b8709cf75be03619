import { type CallTask, outcomeUnknown, type RunTask } from '#workflows/workflow.ts';
import { JsonValue } from './json-value.ts';
import type { Decision, OutsideResult } from './run-events.ts';
import type { OutsideWork } from './run-state.ts';
import { standardError, unknownOutcome } from './task-error.ts';
import { atTask, faulted, type Progress, type StepEvent, type TurnPlace } from './turn.ts';
import { isExpired } from './view.ts';

type OutsidePlace = TurnPlace<CallTask | RunTask>;

/** Begins work outside the run. Its number of attempts makes it a call of its own. */
export function beginOutside({ run }: OutsidePlace, attempt: number, input?: JsonValue): Progress<OutsideWork> {
  return { kind: 'busy', state: { kind: 'outside', wait: run.nextWait(), attempt, input } };
}

export function advanceOutside(place: OutsidePlace, work: OutsideWork, event: StepEvent): Progress<OutsideWork> {
  if (event.kind === 'decided') return work.answer === undefined ? decided(place, work, event) : ended(place, work, work.answer);
  if (event.kind === 'settled') {
    return work.answer?.kind === 'unknown' ? ended(place, work, work.answer) : { kind: 'busy', state: work };
  }
  const result = place.run.target === work.wait ? resultOf(event) : undefined;
  if (result === undefined || work.undecided !== undefined) return { kind: 'busy', state: work };
  return isExpired(place) ? { kind: 'busy', state: { ...work, answer: result } } : ended(place, work, result);
}

function resultOf(event: StepEvent): OutsideResult | undefined {
  if (event.kind === 'callEnded' || event.kind === 'childEnded') return event.result;
  if (event.kind === 'held') return { kind: 'aborted' };
  return event.kind === 'failed' ? { kind: 'error', error: event.error } : undefined;
}

function ended(place: OutsidePlace, work: OutsideWork, result: OutsideResult): Progress<OutsideWork> {
  switch (result.kind) {
    case 'ok':
      return { kind: 'ended', output: new JsonValue(result.output) };
    case 'error':
      if (result.error.type !== outcomeUnknown) return faulted(place.task, result.error);
      return undecided(place, work, result.error.detail ?? 'the outcome is unknown');
    case 'unknown':
      return undecided(place, work, result.detail);
    default:
      return beginOutside(place, work.attempt, work.input);
  }
}

/** It stays in the tree: where no `catch` takes the error, people decide, and it goes on from here. */
function undecided(place: OutsidePlace, { wait, attempt, input }: OutsideWork, detail: string): Progress<OutsideWork> {
  const error = atTask(place.task, unknownOutcome(detail));
  return { kind: 'busy', state: { kind: 'outside', wait, attempt, input, undecided: error }, unknown: error };
}

function decided(place: OutsidePlace, work: OutsideWork, decision: Decision): Progress<OutsideWork> {
  if (work.undecided === undefined || decision.activity !== place.activity.id) return { kind: 'busy', state: work };
  place.run.note(place, 'resumed');
  switch (decision.as) {
    case 'done':
      return { kind: 'ended', output: new JsonValue(decision.output ?? 'null') };
    case 'refused':
      return faulted(place.task, decision.error ?? standardError('authorization', 'The output was refused'));
    case 'failed':
      return faulted(place.task, standardError('communication', 'The call failed', `decided by people: ${decision.reason}`));
    default:
      place.run.note(place, 'retried');
      return beginOutside(place, work.attempt + 1, work.input);
  }
}
