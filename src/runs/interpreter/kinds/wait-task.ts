import type { WaitTask } from '#workflows/workflow.ts';
import { durationExpressions } from '../programs.ts';
import type { TimerWork } from '../state/run-state.ts';
import { isoOf, momentAfter } from '../time-limit.ts';
import { expressionError, fault } from '../turn.ts';
import type { TaskBehaviour } from './task-kind.ts';

export const waitBehaviour: TaskBehaviour<WaitTask, TimerWork> = {
  expressions: (task) => durationExpressions('wait', task.duration),
  begin: ({ run, task }, [value]) => {
    const iso = isoOf(task.duration, value);
    const at = momentAfter(run.now, iso);
    if (at === undefined) return fault(task, expressionError('wait', `${iso ?? value?.text} is no ISO 8601 duration`));
    return { kind: 'busy', state: { kind: 'timer', wait: run.nextWait(), at } };
  },
  advance: ({ run, activity }, work, event) => {
    const passed = event.kind === 'timePassed' && run.now >= work.at;
    return passed ? { kind: 'ended', output: activity.input } : { kind: 'busy', state: work };
  },
  effects: (_place, { at }, sink) => sink.timer(at),
};
