import type { WaitTask } from '#workflows/workflow.ts';
import { isoOf, momentAfter } from './durations.ts';
import type { TimerWork } from './run-state.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { durationExpressions } from './task-programs.ts';
import { expressionError, faulted } from './turn.ts';

export const waitBehaviour: TaskBehaviour<WaitTask, TimerWork> = {
  expressions: (task) => durationExpressions('wait', task.duration),
  begin: ({ run, task }, [value]) => {
    const iso = isoOf(task.duration, value);
    const at = iso === undefined ? undefined : momentAfter(run.now, iso);
    if (at === undefined) return faulted(task, expressionError('wait', `${iso ?? value?.text} is no ISO 8601 duration`));
    return { kind: 'busy', state: { kind: 'timer', wait: run.nextWait(), at } };
  },
  advance: ({ run, activity }, work, event) => {
    const passed = event.kind === 'timePassed' && run.now >= work.at;
    return passed ? { kind: 'ended', output: activity.input } : { kind: 'busy', state: work };
  },
  effects: (_place, { at }, sink) => sink.timer(at),
};
