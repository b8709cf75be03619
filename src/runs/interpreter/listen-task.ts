import type { ListenTask } from '#workflows/workflow.ts';
import type { ListenEffect } from './effects.ts';
import { arrayOf, isTrue, type JsonValue } from './json-value.ts';
import { filterNames, grace, matchExpression, numberedFilters } from './listen-match.ts';
import { advanceItem, correlates, goOn, hasNext, itemChildren, takeEvent, untilCondition } from './listen-work.ts';
import { mentions, oncePer, type Program, ProgramBuilder } from './programs.ts';
import { evaluatedBy } from './results.ts';
import type { ListenWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import type { WorkExpression } from './task-programs.ts';
import { faulted, type Progress, type StepEvent, type TurnPlace } from './turn.ts';
import { bindings, evaluation } from './variables.ts';
import { type ActivityPlace, isExpired } from './view.ts';

export const listenBehaviour: TaskBehaviour<ListenTask, ListenWork> = {
  expressions: (task) => expectations(task),
  begin: ({ run, task }, values) => {
    if (correlates(task)) run.notes.push({ of: 'correlation', kind: 'started', at: run.at, keys: [] });
    const counts = { taken: [], untilTaken: [], queue: [], outputs: [], closed: false };
    const expected = expectedValues(task, values);
    return { kind: 'busy', state: { kind: 'listen', since: run.at, wait: run.nextWait(), expected, ...counts } };
  },
  advance: (place, work, event) => {
    const progress = isExpired(place) ? undefined : ownEvent(place, work, event);
    if (progress !== undefined) return progress;
    return work.item === undefined ? { kind: 'busy', state: work } : advanceItem(place, work, work.item, event);
  },
  effects: (place, work, sink) => {
    const { task, activity } = place;
    const { until } = work;
    if (hasNext(work)) sink.goOn();
    if (until !== undefined) {
      const moment = { input: activity.input };
      sink.add(until, (key) => {
        return { kind: 'evaluate', key, ...evaluation(place, untilProgram(task), arrayOf(work.outputs), moment) };
      });
    }
    // The condition decides before the next event: what comes after the last one is for other listens.
    const judging =
      untilCondition(task) !== undefined && (until !== undefined || work.item !== undefined || work.queue.length > 0);
    if (!work.closed && !judging) sink.add(work.wait, (key) => listenEffect(place, work, key), 'waiting');
  },
  children: itemChildren,
};

/** What the event means for the listening itself. Undefined where it is for a task of `foreach`, or for no one here. */
function ownEvent(place: TurnPlace<ListenTask>, work: ListenWork, event: StepEvent): Progress<ListenWork> | undefined {
  const { run, task } = place;
  if (event.kind === 'timePassed' && hasNext(work)) return goOn(place, work);
  if (run.target === work.wait && event.kind === 'failed') return giveUp(place, work, faulted(task, event.error));
  if (run.target === work.wait && event.kind === 'eventArrived') return takeEvent(place, work, event);
  const judged = evaluatedBy(run, work.until, untilProgram(task), event);
  if (judged === undefined) return undefined;
  if ('error' in judged) return giveUp(place, work, faulted(task, judged.error));
  const closed = judged.values.every(isTrue);
  return goOn(place, { ...work, until: undefined, closed, queue: closed ? [] : work.queue });
}

function giveUp(place: TurnPlace<ListenTask>, work: ListenWork, progress: Progress<ListenWork>): Progress<ListenWork> {
  for (const child of itemChildren(place, work)) place.run.tasks.drop({ run: place.run, ...child });
  return progress;
}

function listenEffect(place: ActivityPlace<ListenTask>, work: ListenWork, key: string): ListenEffect {
  const { task, activity, run } = place;
  const { createdAt, taken = [] } = run.run;
  const { since, position } = work;
  const match = { expressions: [matchExpression(task, work)], ...bindings(place, filterNames(task), { input: activity.input }) };
  return {
    kind: 'listen',
    key,
    since: Math.max(createdAt, since - grace),
    ...(position === undefined ? {} : { after: position }),
    except: new Set(taken.map((one) => one.position)),
    match,
  };
}

/** `expect` of each correlation that has one. */
const expectations = oncePer((task: ListenTask): readonly (WorkExpression & { readonly name: string })[] =>
  numberedFilters(task)
    .flatMap(({ filter }) => filter.correlate)
    .flatMap(({ name, expect }) =>
      expect === undefined ? [] : [{ name, label: `correlate.${name}.expect`, expression: expect }],
    ),
);

function expectedValues(task: ListenTask, values: readonly JsonValue[]): ListenWork['expected'] {
  const expected = new Map<string, JsonValue>();
  for (const [index, { name }] of expectations(task).entries()) {
    const value = values[index];
    if (value !== undefined && !expected.has(name)) expected.set(name, value);
  }
  return Array.from(expected, ([name, value]) => ({ name, value }));
}

const untilProgram = oncePer((task: ListenTask): Program => {
  const builder = new ProgramBuilder();
  const condition = untilCondition(task);
  if (condition !== undefined) builder.addText('until', condition.jq, mentions(condition.jq));
  return builder.program;
});
