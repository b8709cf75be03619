import type { DoTask, Expression, ListenTask } from '#workflows/workflow.ts';
import type { ListenEffect } from '../effects.ts';
import { bindings, evaluation, readEvaluated } from '../evaluation.ts';
import { constantOf, oncePer, programOf, type WorkExpression } from '../programs.ts';
import { arrayItems, arrayOf, isTrue, type JsonValue, nullValue } from '../state/json-value.ts';
import type { RunEvent } from '../state/run-events.ts';
import type { Activity, ListenWork } from '../state/run-state.ts';
import { type ActivityLocation, innerScope, isExpired, type TaskScope, type TasksInside } from '../state/view.ts';
import { fault, limitFault, maxBytes, type Progress, type StepEvent, type TurnLocation } from '../turn.ts';
import { listTask } from './list-tasks.ts';
import {
  filterNames,
  grace,
  isSatisfied,
  matchExpression,
  type NumberedFilter,
  numberedFilters,
  untilEvents,
} from './listen-match.ts';
import type { TaskBehaviour } from './task-kind.ts';

export const listenBehaviour: TaskBehaviour<ListenTask, ListenWork> = {
  expressions: (task) => expectations(task),
  begin: ({ run, task }, values) => {
    if (correlates(task)) run.notes.push({ of: 'correlation', kind: 'started', at: run.at, keys: [] });
    const counts = { taken: [], untilTaken: [], queue: [], outputs: [], closed: false };
    const expected = expectedValues(task, values);
    return { kind: 'busy', state: { kind: 'listen', since: run.at, wait: run.nextWait(), expected, ...counts } };
  },
  advance: (place, work, event) => {
    const progress = isExpired(place) ? undefined : takeOwn(place, work, event);
    return progress ?? advanceItem(place, work, event);
  },
  effects: (place, work, sink) => {
    const { task, activity } = place;
    const { until, wait, item, queue, closed } = work;
    if (hasNext(work)) sink.goOn();
    if (until !== undefined) {
      sink.add(until, (key) => {
        const outputs = arrayOf(work.outputs);
        return { kind: 'evaluate', key, ...evaluation(place, untilProgram(task), outputs, { input: activity.input }) };
      });
    }
    // The condition decides before the next event: what comes after the last one is for other listens.
    const isJudging = untilCondition(task) !== undefined && (until !== undefined || item !== undefined || queue.length > 0);
    if (!closed && !isJudging) sink.add(wait, (key) => listenEffect(place, work, key), true);
  },
  children: itemsInside,
};

/** Undefined where the event is not for the listening itself. */
function takeOwn(place: TurnLocation<ListenTask>, work: ListenWork, event: StepEvent): Progress<ListenWork> | undefined {
  const { run, task } = place;
  if (event.kind === 'timePassed' && hasNext(work)) return goOn(place, work);
  if (run.target === work.wait && event.kind === 'failed') return giveUp(place, work, fault(task, event.error));
  if (run.target === work.wait && event.kind === 'eventArrived') return takeEvent(place, work, event);
  const judged = readEvaluated(run, work.until, untilProgram(task), event);
  if (judged === undefined) return undefined;
  if ('error' in judged) return giveUp(place, work, fault(task, judged.error));
  const closed = judged.values.every(isTrue);
  return goOn(place, { ...work, until: undefined, closed, queue: closed ? [] : work.queue });
}

function giveUp(place: TurnLocation<ListenTask>, work: ListenWork, progress: Progress<ListenWork>): Progress<ListenWork> {
  for (const child of itemsInside(place, work)) place.run.tasks.drop({ run: place.run, ...child });
  return progress;
}

function listenEffect(place: ActivityLocation<ListenTask>, work: ListenWork, key: string): ListenEffect {
  const { task, activity, run } = place;
  const { createdAt, taken = [] } = run.run;
  const { since, position } = work;
  return {
    kind: 'listen',
    key,
    since: Math.max(createdAt, since - grace),
    ...(position !== undefined && { after: position }),
    except: new Set(taken.map((one) => one.position)),
    match: { expressions: [matchExpression(task, work)], ...bindings(place, filterNames(task), { input: activity.input }) },
  };
}

const expectations = oncePer((task: ListenTask): readonly (WorkExpression & { readonly name: string })[] => {
  const correlations = numberedFilters(task).flatMap(({ filter }) => filter.correlate);
  return correlations.flatMap(({ name, expect }) =>
    expect === undefined ? [] : [{ name, label: `correlate.${name}.expect`, expression: expect }],
  );
});

function expectedValues(task: ListenTask, values: readonly JsonValue[]): ListenWork['expected'] {
  const expected = new Map<string, JsonValue>();
  for (const [index, { name }] of expectations(task).entries()) {
    const value = values[index];
    if (value !== undefined && !expected.has(name)) expected.set(name, value);
  }
  return Array.from(expected, ([name, value]) => ({ name, value }));
}

const untilProgram = oncePer((task: ListenTask) => programOf('until', untilCondition(task)?.jq ?? '.'));

type Arrival = Extract<RunEvent, { readonly kind: 'eventArrived' }>;

/** `foreach` as a task of its own: its list, its output and its export are those of any task. */
const iterator = oncePer((task: ListenTask): DoTask => {
  const { reference, definition, foreach } = task;
  return listTask({
    name: 'foreach',
    reference: `${reference}/foreach`,
    definition,
    input: {},
    output: foreach?.output ?? {},
    export: foreach?.export ?? {},
    tasks: foreach?.tasks ?? [],
  });
});

/** The condition that ends the listening, where `until` is one. */
function untilCondition({ to }: ListenTask): Expression | undefined {
  return to.kind === 'any' && to.until !== undefined && 'jq' in to.until ? to.until : undefined;
}

/** An event matched. Where another `listen` of the run has it, the next one is looked for. */
function takeEvent(place: TurnLocation<ListenTask>, before: ListenWork, event: Arrival): Progress<ListenWork> {
  const { run, task } = place;
  if (!run.take(event.position)) {
    return { kind: 'busy', state: { ...before, wait: run.nextWait(), position: event.position } };
  }
  const [number, values, value] = matchOf(event.match);
  const numbered = numberedFilters(task)[number];
  if (numbered === undefined || value === undefined) throw new TypeError('A match names a filter that there is not.');
  const { correlate } = numbered.filter;
  const expected = [...before.expected];
  for (const [index, { name }] of correlate.entries()) {
    const found = values[index];
    if (found !== undefined && !expected.some((one) => one.name === name)) expected.push({ name, value: found });
  }
  const work = { ...before, expected, wait: run.nextWait(), position: event.position };
  return goOn(place, numbered.until ? takeForUntil(task, work, numbered) : consume(place, work, numbered, value));
}

function matchOf(text: string): readonly [number, readonly JsonValue[], JsonValue | undefined] {
  const [number, values, value] = arrayItems(text);
  return [Number(number?.text), values === undefined ? [] : arrayItems(values.text), value];
}

function takeForUntil({ to }: ListenTask, work: ListenWork, { index }: NumberedFilter): ListenWork {
  const taken = [...work.untilTaken, index];
  const until = untilEvents(to);
  return { ...work, untilTaken: taken, closed: until !== undefined && isSatisfied(until, taken) };
}

function consume(place: TurnLocation<ListenTask>, work: ListenWork, { index }: NumberedFilter, value: JsonValue): ListenWork {
  const { to, foreach } = place.task;
  const taken = to.kind === 'all' ? [...work.taken, index] : work.taken;
  const closed = to.kind === 'any' ? to.until === undefined : isSatisfied(to, to.kind === 'all' ? taken : [index]);
  const counted = { ...work, taken, closed };
  if (foreach !== undefined) return { ...counted, queue: [...work.queue, value] };
  return judgeUntil(place, { ...counted, outputs: [...work.outputs, value] });
}

/** Asks the condition, if there is one, about the events so far. */
function judgeUntil({ run, task }: TurnLocation<ListenTask>, work: ListenWork): ListenWork {
  const condition = untilCondition(task);
  const constant = condition === undefined ? nullValue : constantOf(condition);
  return constant === undefined ? { ...work, until: run.nextWait() } : { ...work, closed: work.closed || isTrue(constant) };
}

/** Works on the events that wait, one after the other, and ends where no further one is to come. */
function goOn(place: TurnLocation<ListenTask>, from: ListenWork): Progress<ListenWork> {
  const { run, task } = place;
  let work = from;
  if (work.item !== undefined) return { kind: 'busy', state: work };
  while (work.until === undefined && !isTooLarge(work)) {
    const [value, ...queue] = work.queue;
    if (value === undefined || !run.mayBegin()) break;
    const progress = run.tasks.begin(run, iterator(task), value, itemScope(place, value, work));
    if (progress.kind !== 'ended') return around(progress, { ...work, queue }, value);
    work = judgeUntil(place, { ...work, queue, outputs: [...work.outputs, progress.output] });
  }
  return endIfClosed(place, work);
}

function endIfClosed({ run, task }: TurnLocation<ListenTask>, work: ListenWork): Progress<ListenWork> {
  if (isTooLarge(work)) return limitFault(task, `The events of one listen have more than ${maxBytes / 1_048_576} MiB together.`);
  if (work.until !== undefined || !work.closed || hasNext(work)) return { kind: 'busy', state: work };
  if (correlates(task)) run.notes.push({ of: 'correlation', kind: 'completed', at: run.at, keys: work.expected });
  return { kind: 'ended', output: arrayOf(work.outputs) };
}

function hasNext({ item, until, queue }: ListenWork): boolean {
  return item === undefined && until === undefined && queue.length > 0;
}

function isTooLarge({ queue, outputs }: ListenWork): boolean {
  let total = 0;
  for (const { bytes } of [...queue, ...outputs]) total += bytes;
  return total > maxBytes;
}

function advanceItem(place: TurnLocation<ListenTask>, work: ListenWork, event: StepEvent): Progress<ListenWork> {
  const { run } = place;
  const { item } = work;
  const [child] = itemsInside(place, work);
  if (item === undefined || child === undefined) return { kind: 'busy', state: work };
  const progress = run.tasks.advance({ run, ...child }, event);
  if (progress.kind === 'busy' && progress.state === item.activity) return { ...progress, state: work };
  if (progress.kind !== 'ended') return around(progress, work, item.value);
  return goOn(place, judgeUntil(place, { ...work, item: undefined, outputs: [...work.outputs, progress.output] }));
}

function around(
  progress: Exclude<Progress<Activity>, { readonly kind: 'ended' }>,
  work: ListenWork,
  value: JsonValue,
): Progress<ListenWork> {
  return progress.kind === 'busy' ? { ...progress, state: { ...work, item: { value, activity: progress.state } } } : progress;
}

function itemsInside(place: ActivityLocation<ListenTask>, work: ListenWork): TasksInside {
  const { item } = work;
  return item === undefined
    ? []
    : [{ task: iterator(place.task), activity: item.activity, scope: itemScope(place, item.value, work) }];
}

function itemScope(place: ActivityLocation<ListenTask>, value: JsonValue, { outputs }: ListenWork): TaskScope {
  const { foreach } = place.task;
  const index = outputs.length;
  const label = (): string => value.text;
  const own = [
    { name: foreach?.item ?? 'item', text: label },
    { name: foreach?.at ?? 'index', text: () => String(index) },
  ];
  const { variables, turn = [] } = place.scope;
  return innerScope(place, { variables: [...variables, ...own], iteration: index, turn: [...turn, index], label });
}

function correlates(task: ListenTask): boolean {
  return numberedFilters(task).some(({ filter }) => filter.correlate.length > 0);
}
