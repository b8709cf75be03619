import type { ForTask } from '#workflows/workflow.ts';
import { type ArraySpans, arraySpans } from './array-spans.ts';
import { isTrue } from './json-value.ts';
import { constantOf, mentions, oncePer, type Program, ProgramBuilder } from './programs.ts';
import { evaluatedBy } from './results.ts';
import type { ForWork, ListPosition } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { advanceList, beginList, type ListPlace, listChildren, listEffects } from './task-list.ts';
import { expressionError, faulted, type Progress, type StepEvent, type TurnPlace } from './turn.ts';
import { evaluation } from './variables.ts';
import { type ActivityPlace, innerScope, isExpired, type TaskScope } from './view.ts';

export const forBehaviour: TaskBehaviour<ForTask, ForWork> = {
  expressions: (task) => [{ label: 'for.in', expression: task.in }],
  begin: (place, [items = place.activity.input]) => {
    if (arraySpans(items) === undefined) {
      return faulted(place.task, expressionError('for.in', `gives ${items.text.slice(0, 100)}, which is no array`));
    }
    return iterate(place, { kind: 'for', items, index: 0, data: place.activity.input });
  },
  advance: (place, work, event) => {
    if (work.list !== undefined) return advanceIteration(place, work, work.list, event);
    const { wait } = work;
    if (wait === undefined && event.kind === 'timePassed') return iterate(place, work);
    const judged = evaluatedBy(place.run, wait, whileProgram(place.task), event);
    if (judged === undefined || isExpired(place)) return { kind: 'busy', state: work };
    if ('error' in judged) return faulted(place.task, judged.error);
    return judged.values.every(isTrue) ? perform(place, work) : { kind: 'ended', output: work.data };
  },
  effects: (place, work, sink) => {
    const { wait, list, data } = work;
    listEffects(list, sink);
    if (list !== undefined) return;
    if (wait === undefined) return sink.goOn();
    const inside = { ...place, scope: iterationScope(place, work) };
    const moment = { input: place.activity.input };
    sink.add(wait, (key) => ({ kind: 'evaluate', key, ...evaluation(inside, whileProgram(place.task), data, moment) }));
  },
  children: (place, work) => listChildren(place.task.tasks, work.list, iterationScope(place, work)),
};

/** Begins iterations until one waits for something. */
function iterate(place: TurnPlace<ForTask>, from: ForWork): Progress<ForWork> {
  const { task, run } = place;
  const { length } = spansOf(from);
  const condition = task.while;
  const constant = condition === undefined ? undefined : constantOf(condition);
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

/** `while` was true. */
function perform(place: TurnPlace<ForTask>, { items, index, data }: ForWork): Progress<ForWork> {
  const work: ForWork = { kind: 'for', items, index, data };
  return next(place, work, beginList(listOf(place, work), data));
}

function advanceIteration(place: TurnPlace<ForTask>, work: ForWork, list: ListPosition, event: StepEvent): Progress<ForWork> {
  const progress = advanceList(listOf(place, work), list, event);
  if (progress.kind === 'busy' && progress.state === list) return { ...progress, state: work };
  return next(place, work, progress);
}

function next(place: TurnPlace<ForTask>, work: ForWork, progress: Progress<ListPosition>): Progress<ForWork> {
  if (progress.kind !== 'ended') return around(progress, work);
  return iterate(place, { kind: 'for', items: work.items, index: work.index + 1, data: progress.output });
}

function around(progress: Progress<ListPosition>, { items, index, data }: ForWork): Progress<ForWork> {
  if (progress.kind !== 'busy') return progress;
  return { ...progress, state: { kind: 'for', items, index, data, list: progress.state } };
}

function listOf(place: TurnPlace<ForTask>, work: ForWork): ListPlace {
  return { turn: place.run, tasks: place.task.tasks, scope: iterationScope(place, work) };
}

function iterationScope(place: ActivityPlace<ForTask>, work: ForWork): TaskScope {
  const { task, scope } = place;
  const variables = [
    ...scope.variables,
    { name: task.each, text: () => spansOf(work).text(work.index) },
    { name: task.at, text: () => String(work.index) },
  ];
  return innerScope(place, { variables, iteration: work.index });
}

function spansOf({ items }: ForWork): ArraySpans {
  const spans = arraySpans(items);
  if (spans === undefined) throw new TypeError('The items of an iteration are no array.');
  return spans;
}

const whileProgram = oncePer((task: ForTask): Program => {
  const builder = new ProgramBuilder();
  const { jq } = task.while ?? { jq: 'true' };
  builder.addText('while', jq, mentions(jq));
  return builder.program;
});
