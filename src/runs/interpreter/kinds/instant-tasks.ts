import type { RaiseTask, SetTask, SwitchTask } from '#workflows/workflow.ts';
import { enclose, oncePer } from '../programs.ts';
import { readError, standardError } from '../task-error.ts';
import { fault } from '../turn.ts';
import type { TaskBehaviour } from './task-kind.ts';

export const setBehaviour: TaskBehaviour<SetTask> = {
  expressions: (task) => [{ label: 'set', expression: task.value }],
  begin: ({ activity }, [output = activity.input]) => ({ kind: 'ended', output }),
};

export const raiseBehaviour: TaskBehaviour<RaiseTask> = {
  expressions: (task) => [{ label: 'raise.error', expression: task.error }],
  begin: ({ task, activity }, [value = activity.input]) => {
    const error = readError(value, task.reference);
    if (error !== undefined) return { kind: 'faulted', error };
    const detail = `raise.error: needs a text as "type" and a whole number as "status", and gave ${value.text.slice(0, 200)}`;
    return fault(task, standardError('configuration', 'No error to raise', detail));
  },
};

export const switchBehaviour: TaskBehaviour<SwitchTask> = {
  expressions: (task) => [{ label: 'switch', expression: choose(task) }],
  begin: ({ task, activity }, [chosen]) => {
    const taken = task.cases[Number(chosen?.text ?? Number.NaN)];
    return { kind: 'ended', output: activity.input, directive: taken?.then };
  },
};

/** Gives the index of the first case whose condition is true, else that of the case without one, else null. jq tries them in order. */
const choose = oncePer(({ cases }: SwitchTask) => {
  const otherwise = cases.findIndex(({ when }) => when === undefined);
  const fallback = otherwise === -1 ? 'null' : String(otherwise);
  const conditions = cases.flatMap(({ when }, index) => (when === undefined ? [] : [{ jq: when.jq, index }]));
  const jq = conditions.reduceRight((rest, { jq, index }) => `if ${enclose(jq)} then ${index} else ${rest} end`, fallback);
  return conditions.length === 0 ? { jq, constant: jq } : { jq };
});
