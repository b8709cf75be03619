import type { DoTask } from '#workflows/workflow.ts';

/** A part of a document that is performed as a task, and is none in it. */
export function listTask(part: Omit<DoTask, 'kind' | 'then'>): DoTask {
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
  return { ...part, kind: 'do', then: 'continue' };
}
