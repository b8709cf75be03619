import type { DoTask, FunctionTask, Task } from '#workflows/workflow.ts';
import type { JsonValue } from '../state/json-value.ts';
import type { Activity, ListPosition, ListWork } from '../state/run-state.ts';
import { type ActivityLocation, innerScope, type TaskScope, type TasksInside } from '../state/view.ts';
import { type Progress, type StepEvent, type Turn, wrapProgress } from '../turn.ts';
import type { EffectSink, TaskBehaviour } from './task-kind.ts';

export interface ListCursor {
  readonly turn: Turn;
  readonly tasks: readonly Task[];
  readonly scope: TaskScope;
}

/** Performs tasks one after the other, by their directives. */
export function beginList(place: ListCursor, data: JsonValue, index = 0): Progress<ListPosition> {
  const { turn, tasks, scope } = place;
  let position = { index, data };
  for (;;) {
    const task = tasks[position.index];
    if (task === undefined) return { kind: 'ended', output: position.data };
    if (!turn.mayBegin()) return { kind: 'busy', state: { ...position, pause: turn.nextWait() } };
    const next = after(turn.tasks.begin(turn, task, position.data, scope), position);
    if (next.kind !== 'next') return next;
    position = next;
  }
}

export function advanceList(place: ListCursor, list: ListPosition, event: StepEvent): Progress<ListPosition> {
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

export function listChildren(tasks: readonly Task[], list: ListPosition | undefined, scope: TaskScope): TasksInside {
  const task = list === undefined ? undefined : tasks[list.index];
  return task === undefined || list?.child === undefined ? [] : [{ task, activity: list.child, scope }];
}

export function listEffects(list: ListPosition | undefined, sink: EffectSink): void {
  if (list?.pause !== undefined) sink.goOn();
}

/** A part of a document that is performed as a task, and is none in it. */
export function listTask(part: Omit<DoTask, 'kind' | 'then'>): DoTask {
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
  return { ...part, kind: 'do', then: 'continue' };
}

function listBehaviour<T extends Task>(
  tasksOf: (task: T) => readonly Task[],
  scopeOf: (place: ActivityLocation<T>) => TaskScope,
): TaskBehaviour<T, ListWork> {
  const wrapList = (progress: Progress<ListPosition>, before?: ListWork): Progress<ListWork> =>
    wrapProgress(progress, before?.list, before, (list) => ({ kind: 'list', list }));
  const cursorOf = (place: ActivityLocation<T, Turn>): ListCursor => ({
    turn: place.run,
    tasks: tasksOf(place.task),
    scope: scopeOf(place),
  });
  return {
    begin: (place, [input = place.activity.input]) => wrapList(beginList(cursorOf(place), input)),
    advance: (place, work, event) => wrapList(advanceList(cursorOf(place), work.list, event), work),
    effects: (_place, { list }, sink) => listEffects(list, sink),
    children: (place, { list }) => listChildren(tasksOf(place.task), list, scopeOf(place)),
  };
}

export const doBehaviour = listBehaviour<DoTask>(({ tasks }) => tasks, innerScope);

/** The body is a list of one task. Its input is all that it gets: variables of the tasks around the call do not reach it. */
export const functionBehaviour: TaskBehaviour<FunctionTask, ListWork> = {
  ...listBehaviour<FunctionTask>(
    ({ body }) => [body],
    (place) => innerScope(place, { variables: [] }),
  ),
  expressions: (task) => [{ label: 'with', expression: task.with ?? { jq: '.' } }],
};
