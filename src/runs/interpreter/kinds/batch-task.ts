import { type BatchTask, maxItems } from '#workflows/workflow.ts';
import type { OutsideWork } from '../state/run-state.ts';
import { standardError } from '../task-error.ts';
import { expressionError, fault } from '../turn.ts';
import { advanceOutside, beginOutside, isUnderWay, namesOf } from './outside-tasks.ts';
import type { TaskBehaviour } from './task-kind.ts';

/** The items leave the state once the store has them apart from it. */
export const batchBehaviour: TaskBehaviour<BatchTask, OutsideWork> = {
  expressions: (task) => [{ label: 'with.items', expression: task.items }],
  begin: (place, [items = place.activity.input]) => {
    const { spans } = items;
    if (spans === undefined)
      return fault(place.task, expressionError('with.items', `gives ${items.text.slice(0, 100)}, which is no array`));
    if (spans.length <= maxItems) return beginOutside(place, 1, items);
    const most = maxItems.toLocaleString('en');
    const detail = `The list has ${spans.length.toLocaleString('en')} items; a batch has at most ${most}.`;
    return fault(place.task, standardError('runtime', 'Too many items', detail));
  },
  advance: (place, work, event) => {
    const isBegun = event.kind === 'batchBegun' && place.run.target === work.wait;
    return isBegun ? { kind: 'busy', state: { ...work, input: undefined } } : advanceOutside(place, work, event);
  },
  effects: (place, work, sink) => {
    if (!isUnderWay(work)) return;
    const { workflow, version, parallel, canary, stopAfter, failures } = place.task;
    const rules = { parallel, canary, failures, ...(stopAfter !== undefined && { stopAfter }) };
    const batch = { workflow, version, ...rules, items: work.input };
    sink.add(work.wait, (key) => ({ kind: 'batch', key, ...namesOf(place, work), ...batch }));
  },
};
