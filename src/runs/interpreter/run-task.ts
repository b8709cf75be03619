import type { RunTask } from '#workflows/workflow.ts';
import { advanceOutside, beginOutside } from './outside.ts';
import type { OutsideWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { isExpired } from './view.ts';

export const runBehaviour: TaskBehaviour<RunTask, OutsideWork> = {
  expressions: (task) => [{ label: 'run.workflow.input', expression: task.with ?? { jq: '.' } }],
  begin: (place, [input = place.activity.input]) => beginOutside(place, 1, input),
  advance: (place, work, event) => {
    const progress = advanceOutside(place, work, event);
    const begun = progress.kind === 'ended' && !place.task.await && event.kind === 'childEnded';
    return begun ? { kind: 'ended', output: place.activity.input } : progress;
  },
  effects: (place, work, sink) => {
    if (work.answer !== undefined || work.undecided !== undefined) return;
    const { task, activity } = place;
    const { attempt, input = activity.input } = work;
    sink.add(work.wait, (key) => ({
      kind: 'child',
      key,
      activity: activity.id,
      attempt,
      reference: task.reference,
      abort: isExpired(place),
      workflow: task.workflow,
      version: task.version,
      input: input.text,
      await: task.await,
    }));
  },
};
