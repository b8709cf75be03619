import type { Workflow } from '#workflows/workflow.ts';
import { collectEffects, undecidedIn } from './activity-tree.ts';
import type { Effect, TimerEffect } from './effects.ts';
import { rootPlace, viewOf } from './root-task.ts';
import type { RunState } from './run-state.ts';
import type { TaskError } from './task-error.ts';
import { keyOf } from './turn.ts';

/** What the run waits for now. It follows from the state alone. */
export function pending(workflow: Workflow, state: RunState): readonly Effect[] {
  const { root, suspension } = state;
  if (state.status === 'pending') return [timer(state.createdAt)];
  if (root === undefined) return [];
  const effects = new Map<string, Effect>();
  let next = Infinity;
  const soonest = (at: number): void => {
    next = Math.min(next, at);
  };
  collectEffects(rootPlace(viewOf(workflow, state), root), {
    add: (wait, make) => {
      if (suspension !== undefined && wait > suspension.after) return;
      const effect = make(keyOf(wait));
      if (suspension !== undefined && isRepeatable(effect)) return;
      if (!effects.has(effect.key)) effects.set(effect.key, effect);
    },
    timer: soonest,
    limit: soonest,
    goOn: () => soonest(-Infinity),
  });
  const timers = next === Infinity || suspension !== undefined ? [] : [nextTimer(state, next)];
  return [...effects.values(), ...timers];
}

/** What began outside the run before a suspension goes on to its end. The rest is done after it, from the beginning. */
function isRepeatable({ kind }: Effect): boolean {
  return kind === 'evaluate' || kind === 'validate' || kind === 'fetch';
}

function nextTimer({ serial, stoppedFor }: RunState, next: number): TimerEffect {
  // A run that goes on at once does so again and again: each time is a wait of its own.
  if (next === -Infinity) return { kind: 'timer', key: `timer:now.${serial}`, at: 0 };
  return timer(next + stoppedFor);
}

function timer(at: number): TimerEffect {
  return { kind: 'timer', key: `timer:${at}`, at };
}

/** Whether all that the run waits for is time, events and people. */
export function onlyWaits(workflow: Workflow, state: RunState): boolean {
  if (state.root === undefined) return false;
  let busy = false;
  collectEffects(rootPlace(viewOf(workflow, state), state.root), {
    add: (_wait, _make, status) => {
      busy ||= status !== 'waiting';
    },
    timer: () => undefined,
    limit: () => undefined,
    goOn: () => {
      busy = true;
    },
  });
  return !busy;
}

/** A call whose outcome people are to decide on. */
export interface UndecidedCall {
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  readonly error: TaskError;
  /** The document or the state of the run is lost, so that it cannot be made again. */
  readonly isLost?: true;
}

export function undecidedCalls(workflow: Workflow, state: RunState): readonly UndecidedCall[] {
  if (state.root === undefined) return [];
  return undecidedIn(rootPlace(viewOf(workflow, state), state.root)).flatMap(({ task, activity: { id, stage } }) => {
    const work = stage.kind === 'work' && stage.work.kind === 'outside' ? stage.work : undefined;
    if (work?.undecided === undefined) return [];
    return [{ activity: id, attempt: work.attempt, reference: task.reference, error: work.undecided }];
  });
}
