import type { ForTask } from '#workflows/workflow.ts';
import { evaluate, readEvaluated } from '../evaluation.ts';
import { constantOf, oncePer, programOf } from '../programs.ts';
import { type ArraySpans, isTrue } from '../state/json-value.ts';
import type { ForWork, ListPosition } from '../state/run-state.ts';
import { type ActivityLocation, innerScope, isExpired, type TaskScope } from '../state/view.ts';
import { expressionError, fault, type Progress, type TurnLocation } from '../turn.ts';
import { advanceList, beginList, type ListCursor, listChildren, listEffects } from './list-tasks.ts';
import type { TaskBehaviour } from './task-kind.ts';

export const forBehaviour: TaskBehaviour<ForTask, ForWork> = {
  expressions: (task) => [{ label: 'for.in', expression: task.in }],
  begin: (place, [items = place.activity.input]) => {
    if (items.spans === undefined) {
      return fault(place.task, expressionError('for.in', `gives ${items.text.slice(0, 100)}, which is no array`));
    }
    return iterate(place, { kind: 'for', items, index: 0, data: place.activity.input });
  },
  advance: (place, work, event) => {
    const { list, wait } = work;
    if (list !== undefined) {
      const progress = advanceList(listOf(place, work), list, event);
      const same = progress.kind === 'busy' && progress.state === list;
      return same ? { ...progress, state: work } : afterList(place, work, progress);
    }
    if (wait === undefined && event.kind === 'timePassed') return iterate(place, work);
    const judged = readEvaluated(place.run, wait, whileProgram(place.task), event);
    if (judged === undefined || isExpired(place)) return { kind: 'busy', state: work };
    if ('error' in judged) return fault(place.task, judged.error);
    if (!judged.values.every(isTrue)) return { kind: 'ended', output: work.data };
    return afterList(place, work, beginList(listOf(place, work), work.data));
  },
  effects: (place, work, sink) => {
    const { wait, list, data } = work;
    listEffects(list, sink);
    if (list !== undefined) return;
    if (wait === undefined) return sink.goOn();
    const inside = { ...place, scope: iterationScope(place, work) };
    sink.add(wait, evaluate(inside, whileProgram(place.task), data, { input: place.activity.input }));
  },
  children: (place, work) => listChildren(place.task.tasks, work.list, iterationScope(place, work)),
};

/** Begins iterations until one waits for something. */
function iterate(place: TurnLocation<ForTask>, from: ForWork): Progress<ForWork> {
  const { task, run } = place;
  const { length } = spansOf(from);
  const condition = task.while;
  const constant = condition && constantOf(condition);
  let { index, data } = from;
  for (;;) {
    const work: ForWork = { kind: 'for', items: from.items, index, data };
    if (index >= length || (constant !== undefined && !isTrue(constant))) return { kind: 'ended', output: data };
    if (!run.mayBegin()) return { kind: 'busy', state: work };
    if (condition !== undefined && constant === undefined) return { kind: 'busy', state: { ...work, wait: run.nextWait() } };
    const progress = beginList(listOf(place, work), data);
    if (progress.kind !== 'ended') return around(progress, work);
    data = progress.output;
    index += 1;
  }
}

function afterList(place: TurnLocation<ForTask>, work: ForWork, progress: Progress<ListPosition>): Progress<ForWork> {
  if (progress.kind !== 'ended') return around(progress, work);
  return iterate(place, { ...work, index: work.index + 1, data: progress.output });
}

function around(progress: Progress<ListPosition>, { items, index, data }: ForWork): Progress<ForWork> {
  if (progress.kind !== 'busy') return progress;
  return { ...progress, state: { kind: 'for', items, index, data, list: progress.state } };
}

function listOf(place: TurnLocation<ForTask>, work: ForWork): ListCursor {
  return { turn: place.run, tasks: place.task.tasks, scope: iterationScope(place, work) };
}

function iterationScope(place: ActivityLocation<ForTask>, work: ForWork): TaskScope {
  const { task, scope } = place;
  const label = (): string => spansOf(work).text(work.index);
  const variables = [...scope.variables, { name: task.each, text: label }, { name: task.at, text: () => String(work.index) }];
  return innerScope(place, { variables, iteration: work.index, turn: [...(scope.turn ?? []), work.index], label });
}

function spansOf({ items: { spans } }: ForWork): ArraySpans {
  if (spans === undefined) throw new TypeError('The items of an iteration are no array.');
  return spans;
}

const whileProgram = oncePer((task: ForTask) => programOf('while', task.while?.jq ?? 'true'));
