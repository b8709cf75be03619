import { endForParent } from './child-runs.ts';
import { readState } from './interpreter/state-text.ts';
import { begin } from './interpreter/step.ts';
import type { EffectError } from './interpreter/task-error.ts';
import { createOutbox } from './run-outbox.ts';
import type { ClaimedRun, RunWrite } from './run-records.ts';

/** The write that ends a run which cannot go on: its workflow is not there any more. */
export function endedEarly(run: ClaimedRun, reason: EffectError, at: number): RunWrite {
  const { id, seed, input, createdAt, state: text, workflow, version } = run;
  const [namespace = '', name = ''] = workflow.split('.');
  const before =
    text === undefined
      ? begin({ id, seed, input, at: createdAt, runtime: { name: '', version: '' } })
      : readState(text.text, text.values);
  const error = { ...reason, instance: '' };
  const state = { ...before, status: 'faulted' as const, endedAt: at, error };
  const outbox = createOutbox(run, { id: workflow, name, namespace, version });
  outbox.notes([{ of: 'run', kind: 'faulted', at, error }]);
  for (const { run: parent, command } of endForParent(run, state, false)) outbox.command(parent, command);
  return outbox.take(state, undefined);
}
