import { endForParent } from './child-runs.ts';
import { begin } from './interpreter/step.ts';
import { type EffectError, standardError } from './interpreter/task-error.ts';
import { createOutbox } from './run-outbox.ts';
import type { ClaimedRun, RunWrite } from './run-records.ts';

/** The write that ends a run which cannot go on: its workflow is not there any more. */
export function endedEarly(run: ClaimedRun, reason: EffectError, at: number): RunWrite {
  const { id, seed, input, createdAt, startedAt, workflow, version } = run;
  const [namespace = '', name = ''] = workflow.split('.');
  const before = begin({ id, seed, input, at: createdAt, runtime: { name: '', version: '' } });
  const error = { ...reason, instance: '' };
  const state = { ...before, status: 'faulted' as const, startedAt, endedAt: at, error };
  const outbox = createOutbox(run, { id: workflow, name, namespace, version });
  outbox.notes([{ of: 'run', kind: 'faulted', at, error }]);
  for (const { run: parent, command } of endForParent(run, state, false)) outbox.command(parent, command);
  return outbox.take(state, undefined);
}

/** So many gateways may die at a task. */
export const mostDeaths = 3;

/** The error of a task at which gateways died too often. */
export function gatewaysEnded(deaths: number): EffectError {
  const detail = `${deaths} gateways ended while they worked on this task, so it is not tried again.`;
  return standardError('runtime', 'Gateways ended at this task', detail);
}
