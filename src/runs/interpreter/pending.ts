import type { DoTask, Workflow } from '#workflows/workflow.ts';
import { collectEffects, outsideWork, undecidedIn, visit } from './activity.ts';
import type { CallEffect, Effect, TimerEffect } from './effects.ts';
import { listTask } from './kinds/list-tasks.ts';
import { argumentsOf } from './kinds/outside-tasks.ts';
import { oncePer } from './programs.ts';
import type { Activity, RunState } from './state/run-state.ts';
import { type ActivityLocation, outermost, type RunView } from './state/view.ts';
import type { TaskError } from './task-error.ts';
import { keyOf } from './turn.ts';

/** The workflow as a task, since its data flow and its time limit are those of a task. The timeline does not have it. */
export const rootTask = oncePer((workflow: Workflow): DoTask => {
  const { name, definition, input, output, tasks, timeout, taskData } = workflow;
  const given = { name, reference: '', definition, input, output, export: {}, tasks };
  return listTask({ ...given, ...(timeout && { timeout }), ...(taskData === false && { taskData }) });
});

export function rootPlace<View extends RunView>(run: View, root: Activity): ActivityLocation<DoTask, View> {
  return { run, task: rootTask(run.workflow), activity: root, scope: outermost };
}

function placeIn(workflow: Workflow, run: RunState, root: Activity): ActivityLocation {
  return rootPlace({ workflow, run, context: run.context }, root);
}

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
  collectEffects(placeIn(workflow, state, root), {
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
  let isBusy = false;
  collectEffects(placeIn(workflow, state, state.root), {
    add: (_wait, _make, isIdle = false) => {
      isBusy ||= !isIdle;
    },
    timer: () => undefined,
    limit: () => undefined,
    goOn: () => {
      isBusy = true;
    },
  });
  return !isBusy;
}

/** Whether branches of a `fork` are under way side by side. */
export function hasOpenFork(workflow: Workflow, state: RunState): boolean {
  let isOpen = false;
  if (state.root !== undefined)
    visit(placeIn(workflow, state, state.root), ({ activity: { stage } }) => {
      isOpen ||= stage.kind === 'work' && stage.work.kind === 'fork';
    });
  return isOpen;
}

/** A call whose outcome people are to decide on. */
export interface UndecidedCall {
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  readonly error: TaskError;
  /** What would make it again; undefined for a child run. */
  readonly call?: Pick<CallEffect, 'function' | 'with'> | undefined;
  /** The document or the state of the run is lost, so that the call cannot be made again. */
  readonly isLost?: true;
}

export function undecidedCalls(workflow: Workflow, state: RunState): readonly UndecidedCall[] {
  if (state.root === undefined) return [];
  const root = placeIn(workflow, state, state.root);
  return undecidedIn(root).flatMap((inside) => {
    const { task, activity } = inside;
    const { attempt, undecided } = outsideWork({ activity }) ?? {};
    if (undecided === undefined || attempt === undefined) return [];
    const call = task.kind === 'call' ? { function: task.function, with: argumentsOf({ ...root, ...inside, task }) } : undefined;
    return [{ activity: activity.id, attempt, reference: task.reference, error: undecided, call }];
  });
}
