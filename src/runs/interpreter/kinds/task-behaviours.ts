import type { Task, TaskKind } from '#workflows/workflow.ts';
import type { Work } from '../state/run-state.ts';
import { forBehaviour } from './for-task.ts';
import { forkBehaviour } from './fork-task.ts';
import { emitBehaviour, raiseBehaviour, setBehaviour, switchBehaviour } from './instant-tasks.ts';
import { doBehaviour, functionBehaviour } from './list-tasks.ts';
import { listenBehaviour } from './listen-task.ts';
import { batchBehaviour, callBehaviour, runBehaviour } from './outside-tasks.ts';
import type { TaskBehaviour } from './task-kind.ts';
import { tryBehaviour } from './try-task.ts';
import { waitBehaviour } from './wait-task.ts';

const behaviours = {
  batch: batchBehaviour,
  call: callBehaviour,
  do: doBehaviour,
  emit: emitBehaviour,
  for: forBehaviour,
  fork: forkBehaviour,
  function: functionBehaviour,
  listen: listenBehaviour,
  raise: raiseBehaviour,
  run: runBehaviour,
  set: setBehaviour,
  switch: switchBehaviour,
  try: tryBehaviour,
  wait: waitBehaviour,
} satisfies { readonly [Kind in TaskKind]: unknown };

/** The behaviour of the task's kind. A task and its work are always of the same kind. */
export function behaviourOf(task: Task): TaskBehaviour<Task, Work> {
  return behaviours[task.kind];
}
