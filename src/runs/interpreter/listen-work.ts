import type { DoTask, Expression, ListenTask } from '#workflows/workflow.ts';
import { arrayItems } from './array-spans.ts';
import { arrayOf, isTrue, type JsonValue, nullValue } from './json-value.ts';
import { listTask } from './list-task.ts';
import { isSatisfied, type NumberedFilter, numberedFilters } from './listen-match.ts';
import { constantOf, oncePer } from './programs.ts';
import type { RunEvent } from './run-events.ts';
import type { Activity, ListenItem, ListenWork } from './run-state.ts';
import { limitFault, mostBytes, type Progress, type StepEvent, type TurnPlace } from './turn.ts';
import { type ActivityPlace, innerScope, type TaskScope } from './view.ts';

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
export function untilCondition({ to }: ListenTask): Expression | undefined {
  return to.kind === 'any' && to.until !== undefined && 'jq' in to.until ? to.until : undefined;
}

/** An event matched. Where another `listen` of the run has it, the next one is looked for. */
export function takeEvent(place: TurnPlace<ListenTask>, before: ListenWork, event: Arrival): Progress<ListenWork> {
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
  return goOn(place, numbered.until ? untilTaken(task, work, numbered) : consumed(place, work, numbered, value));
}

function matchOf(text: string): readonly [number, readonly JsonValue[], JsonValue | undefined] {
  const [number, values, value] = arrayItems(text);
  return [Number(number?.text), values === undefined ? [] : arrayItems(values.text), value];
}

function untilTaken({ to }: ListenTask, work: ListenWork, { index }: NumberedFilter): ListenWork {
  const taken = [...work.untilTaken, index];
  const strategy = to.kind === 'any' && to.until !== undefined && 'kind' in to.until ? to.until : undefined;
  return { ...work, untilTaken: taken, closed: strategy !== undefined && isSatisfied(strategy, taken) };
}

function consumed(place: TurnPlace<ListenTask>, work: ListenWork, { index }: NumberedFilter, value: JsonValue): ListenWork {
  const { to, foreach } = place.task;
  const taken = to.kind === 'all' ? [...work.taken, index] : work.taken;
  const closed = to.kind === 'any' ? to.until === undefined : isSatisfied(to, to.kind === 'all' ? taken : [index]);
  const counted = { ...work, taken, closed };
  if (foreach !== undefined) return { ...counted, queue: [...work.queue, value] };
  return judgeUntil(place, { ...counted, outputs: [...work.outputs, value] });
}

/** Asks the condition, if there is one, about the events so far. */
function judgeUntil({ run, task }: TurnPlace<ListenTask>, work: ListenWork): ListenWork {
  const condition = untilCondition(task);
  const constant = condition === undefined ? nullValue : constantOf(condition);
  return constant === undefined ? { ...work, until: run.nextWait() } : { ...work, closed: work.closed || isTrue(constant) };
}

/** Works on the events that wait, one after the other, and ends where no further one is to come. */
export function goOn(place: TurnPlace<ListenTask>, from: ListenWork): Progress<ListenWork> {
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
  return endOf(place, work);
}

function endOf({ run, task }: TurnPlace<ListenTask>, work: ListenWork): Progress<ListenWork> {
  if (isTooLarge(work)) return limitFault(task, `The events of one listen have more than ${mostBytes / 1_048_576} MiB together.`);
  if (work.until !== undefined || !work.closed || hasNext(work)) return { kind: 'busy', state: work };
  if (correlates(task)) run.notes.push({ of: 'correlation', kind: 'completed', at: run.at, keys: work.expected });
  return { kind: 'ended', output: arrayOf(work.outputs) };
}

/** Whether an event waits that `foreach` can work on at once. */
export function hasNext({ item, until, queue }: ListenWork): boolean {
  return item === undefined && until === undefined && queue.length > 0;
}

function isTooLarge({ queue, outputs }: ListenWork): boolean {
  let bytes = 0;
  for (const value of queue) bytes += value.bytes;
  for (const value of outputs) bytes += value.bytes;
  return bytes > mostBytes;
}

export function advanceItem(
  place: TurnPlace<ListenTask>,
  work: ListenWork,
  item: ListenItem,
  event: StepEvent,
): Progress<ListenWork> {
  const { run } = place;
  const [child] = itemChildren(place, work);
  if (child === undefined) return { kind: 'busy', state: work };
  const progress = run.tasks.advance({ run, ...child }, event);
  if (progress.kind === 'busy' && progress.state === item.activity) return { ...progress, state: work };
  if (progress.kind !== 'ended') return around(progress, work, item.value);
  return goOn(place, judgeUntil(place, { ...work, item: undefined, outputs: [...work.outputs, progress.output] }));
}

function around(progress: Progress<Activity>, work: ListenWork, value: JsonValue): Progress<ListenWork> {
  if (progress.kind === 'busy') return { ...progress, state: { ...work, item: { value, activity: progress.state } } };
  return progress.kind === 'ended' ? { kind: 'ended', output: progress.output } : progress;
}

export function itemChildren(place: ActivityPlace<ListenTask>, work: ListenWork): readonly Omit<ActivityPlace, 'run'>[] {
  const { item } = work;
  if (item === undefined) return [];
  return [{ task: iterator(place.task), activity: item.activity, scope: itemScope(place, item.value, work) }];
}

function itemScope(place: ActivityPlace<ListenTask>, value: JsonValue, { outputs }: ListenWork): TaskScope {
  const { foreach } = place.task;
  const index = outputs.length;
  const own = [
    { name: foreach?.item ?? 'item', text: () => value.text },
    { name: foreach?.at ?? 'index', text: () => String(index) },
  ];
  return innerScope(place, { variables: [...place.scope.variables, ...own], iteration: index });
}

/** Whether it links events by correlations. */
export function correlates(task: ListenTask): boolean {
  return numberedFilters(task).some(({ filter }) => filter.correlate.length > 0);
}
