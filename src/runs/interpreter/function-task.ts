import type { FunctionTask } from '#workflows/workflow.ts';
import type { ListWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { advanceList, beginList, type ListPlace, listChildren, listEffects } from './task-list.ts';
import { type TurnPlace, wrapped } from './turn.ts';
import { type ActivityPlace, innerScope, type TaskScope } from './view.ts';

/** The body is a list of one task. Variables of the tasks around the call do not reach it: its input is all that it gets. */
export const functionBehaviour: TaskBehaviour<FunctionTask, ListWork> = {
  expressions: (task) => [{ label: 'with', expression: task.with ?? { jq: '.' } }],
  begin: (place, [input = place.activity.input]) => wrapped(beginList(listOf(place), input), undefined, undefined, workOf),
  advance: (place, work, event) => wrapped(advanceList(listOf(place), work.list, event), work.list, work, workOf),
  effects: (_place, { list }, sink) => listEffects(list, sink),
  children: (place, { list }) => listChildren([place.task.body], list, bodyScope(place)),
};

function listOf(place: TurnPlace<FunctionTask>): ListPlace {
  return { turn: place.run, tasks: [place.task.body], scope: bodyScope(place) };
}

function bodyScope(place: ActivityPlace): TaskScope {
  return innerScope(place, { variables: [] });
}

function workOf(list: ListWork['list']): ListWork {
  return { kind: 'list', list };
}
