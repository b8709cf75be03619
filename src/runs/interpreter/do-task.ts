import type { DoTask } from '#workflows/workflow.ts';
import type { ListWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { advanceList, beginList, type ListPlace, listChildren, listEffects } from './task-list.ts';
import { type TurnPlace, wrapped } from './turn.ts';
import { innerScope } from './view.ts';

export const doBehaviour: TaskBehaviour<DoTask, ListWork> = {
  begin: (place) => wrapped(beginList(listOf(place), place.activity.input), undefined, undefined, workOf),
  advance: (place, work, event) => wrapped(advanceList(listOf(place), work.list, event), work.list, work, workOf),
  effects: (_place, { list }, sink) => listEffects(list, sink),
  children: (place, { list }) => listChildren(place.task.tasks, list, innerScope(place)),
};

function listOf(place: TurnPlace<DoTask>): ListPlace {
  return { turn: place.run, tasks: place.task.tasks, scope: innerScope(place) };
}

function workOf(list: ListWork['list']): ListWork {
  return { kind: 'list', list };
}
