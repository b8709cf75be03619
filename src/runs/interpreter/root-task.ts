import type { DoTask, Workflow } from '#workflows/workflow.ts';
import { listTask } from './list-task.ts';
import { oncePer } from './programs.ts';
import type { Activity, RunState } from './run-state.ts';
import { type ActivityPlace, outermost, type RunView } from './view.ts';

/** The workflow as a task, since its data flow and its time limit are those of a task. It is no task of the timeline. */
export const rootTask = oncePer((workflow: Workflow): DoTask => {
  const { name, definition, input, output, tasks, timeout } = workflow;
  const limit = timeout === undefined ? {} : { timeout };
  return listTask({ name, reference: '', definition, input, output, export: {}, tasks, ...limit });
});

export function rootPlace<View extends RunView>(run: View, root: Activity): ActivityPlace<DoTask, View> {
  return { run, task: rootTask(run.workflow), activity: root, scope: outermost };
}

export function viewOf(workflow: Workflow, run: RunState): RunView {
  return { workflow, run, context: run.context };
}
