import type { Task } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';
import type { Activity, ListPosition } from './run-state.ts';
import type { EffectSink } from './task-kind.ts';
import type { Progress, StepEvent, Turn } from './turn.ts';
import type { ActivityPlace, TaskScope } from './view.ts';

/** Where a list and its scope are. */
export interface ListPlace {
  readonly turn: Turn;
  readonly tasks: readonly Task[];
  readonly scope: TaskScope;
}

/** Performs tasks one after the other, by their directives. */
export function beginList(place: ListPlace, data: JsonValue, index = 0): Progress<ListPosition> {
  const { turn, tasks, scope } = place;
  let position = { index, data };
  for (;;) {
    const task = tasks[position.index];
    if (task === undefined) return { kind: 'ended', output: position.data };
    if (!turn.mayBegin()) return { kind: 'busy', state: { ...position, pause: turn.nextWait() } };
    const progress = turn.tasks.begin(turn, task, position.data, scope);
    const next = after(progress, position);
    if (next.kind !== 'next') return next;
    position = next;
  }
}

export function advanceList(place: ListPlace, list: ListPosition, event: StepEvent): Progress<ListPosition> {
  const { turn, tasks, scope } = place;
  const task = tasks[list.index];
  if (list.child === undefined || task === undefined) {
    const goesOn = event.kind === 'timePassed' && !scope.expired;
    return goesOn ? beginList(place, list.data, list.index) : { kind: 'busy', state: list };
  }
  const progress = turn.tasks.advance({ run: turn, task, activity: list.child, scope }, event);
  if (progress.kind === 'busy' && progress.state === list.child) return { kind: 'busy', state: list, unknown: progress.unknown };
  const next = after(progress, list);
  return next.kind === 'next' ? beginList(place, next.data, next.index) : next;
}

type Next = { readonly kind: 'next'; readonly index: number; readonly data: JsonValue };

function after(progress: Progress<Activity>, { index, data }: ListPosition): Progress<ListPosition> | Next {
  if (progress.kind === 'busy') return { ...progress, state: { index, data, child: progress.state } };
  if (progress.kind !== 'ended') return progress;
  const { output, directive = 'continue' } = progress;
  if (directive === 'end') return { kind: 'finished', output };
  if (directive === 'exit') return { kind: 'ended', output };
  return { kind: 'next', index: directive === 'continue' ? index + 1 : directive.index, data: output };
}

/** The task of the list that is under way. */
export function listChildren(
  tasks: readonly Task[],
  list: ListPosition | undefined,
  scope: TaskScope,
): readonly Omit<ActivityPlace, 'run'>[] {
  const task = list === undefined ? undefined : tasks[list.index];
  return task === undefined || list?.child === undefined ? [] : [{ task, activity: list.child, scope }];
}

export function listEffects(list: ListPosition | undefined, sink: EffectSink): void {
  if (list?.pause !== undefined) sink.goOn();
}
