import { createHash } from 'node:crypto';
import { pinNamed } from '#workflows/catalogue/workflow-pins.ts';
import type { ChildEffect, Effect } from '../../interpreter/effects.ts';
import type { OutsideResult } from '../../interpreter/state/run-events.ts';
import type { RunState } from '../../interpreter/state/run-state.ts';
import { standardError } from '../../interpreter/task-error.ts';
import type { BatchItem, ParentCall } from '../../journal/run-parent.ts';
import type { ClaimedRun, NewRun, RunCommand, RunWrite } from '../../journal/run-records.ts';
import { merged, through } from '../../people/run-people.ts';
import type { RunTools } from '../run-tools.ts';

/** Runs that a run may be inside, at most: a workflow that runs itself ends. */
const maxLevels = 20;

/** The id of the run of a `run: workflow` task, or of an item of a batch: each holder of the parent makes the same. */
export function childRunId({ run, activity, attempt, index }: ParentCall & Partial<BatchItem>): string {
  return `${run}.${activity}.${attempt}${index === undefined ? '' : `-${index}`}`;
}

type Beginning = Pick<ChildEffect, 'activity' | 'attempt' | 'reference' | 'turn' | 'workflow' | 'version' | 'input'>;

/** The run of another workflow that a task asks for, or why it cannot begin. `index`: it is for that item of a batch. */
export function childRun(
  parent: NewRun,
  effect: Beginning & { readonly index?: number },
  document: { readonly version: string; readonly digest: string } | undefined,
): { readonly child: NewRun } | { readonly problem: string } {
  if (document === undefined) return { problem: `There is no workflow ${effect.workflow} with the version ${effect.version}.` };
  const { activity, attempt, workflow, input, index } = effect;
  const call = { run: parent.id, activity, attempt };
  const item = index === undefined ? parent.item : { ...call, index };
  const around = [...(parent.around ?? []), effect.reference, ...effect.turn];
  const id = childRunId({ ...call, ...(index !== undefined && { index }) });
  if (id.split('.').length > 2 * maxLevels) return { problem: `More than ${maxLevels} runs are inside each other.` };
  const { automation, principal, startedBy, pins, authors, owner, notBefore, passwordFields, repeats, entrance } = parent;
  // Who stored the documents above answers for its calls as well.
  const above = parent.workflowDigest === undefined ? [] : [...parent.above, parent.workflowDigest];
  const involved = merged(through('parent', parent.involved));
  const people = { workflowDigest: document.digest, pins, above, authors, owner, involved };
  const { version } = document;
  const seed = createHash('sha256').update(`${parent.seed} child ${id}`).digest('base64url');
  const given = { id, automation, workflow, version, input, seed, principal, ...people, startedBy };
  return { child: { ...given, parent: call, ...(item && { item }), around, notBefore, passwordFields, repeats, entrance } };
}

/** The document that a task runs: what the outermost run pinned, and nothing else. A run of an earlier gateway takes what there is. */
export async function documentFor(
  { pins }: ClaimedRun,
  { workflow: id, version }: Pick<ChildEffect, 'workflow' | 'version'>,
  { loadWorkflow }: Pick<RunTools, 'loadWorkflow'>,
): Promise<{ readonly version: string; readonly digest: string } | undefined> {
  if (pins !== undefined) return pinNamed(pins, { id, version });
  const loaded = await loadWorkflow({ id, version, digest: undefined });
  return loaded && { version: loaded.workflow.version, digest: loaded.digest };
}

/** It is the run of an item of a batch, whose end the batch has from its row. */
export function isItem({ parent, item }: Pick<NewRun, 'parent' | 'item'>): boolean {
  return item !== undefined && parent?.run === item.run;
}

/** What a parent learns of a child. */
export const cancelledInFlight = 'was cancelled while a call was in flight';

/** Functions whose calls change nothing at the upstream. */
const reads: ReadonlySet<string> = new Set(['orchestratorQuery', 'approval']);

/** Whether a call is in flight that may change something. */
export function mayChange(effects: Iterable<Effect>): boolean {
  for (const effect of effects) if (effect.kind === 'call' && !reads.has(effect.function)) return true;
  return false;
}

/** What the run that waits for this one is to know of its end. `unknown`: why something may have happened, although the run has no outcome. */
export function endForParent(
  { parent, id, item }: Pick<NewRun, 'parent' | 'id' | 'item'>,
  state: RunState,
  unknown?: string,
): RunWrite['commands'] {
  if (parent === undefined || isItem({ parent, item })) return [];
  const { run, activity, attempt } = parent;
  const command: RunCommand = {
    kind: 'child-ended',
    activity,
    attempt,
    result: unknown === undefined ? resultOf(state) : { kind: 'unknown', detail: `the run ${id} ${unknown}` },
  };
  return [{ run, command }];
}

function resultOf({ status, output, error }: RunState): OutsideResult {
  if (status === 'completed') return { kind: 'ok', output: output?.text ?? 'null' };
  if (status === 'cancelled' || error === undefined) return { kind: 'aborted' };
  const { instance: _, ...rest } = error;
  return { kind: 'error', error: rest };
}

/** The result for the task that waits. A run that people cancelled is an error, and is not begun again. */
export function resultForTask(result: OutsideResult, effect: ChildEffect): OutsideResult {
  if (result.kind !== 'aborted' || effect.abort) return result;
  return {
    kind: 'error',
    error: standardError('runtime', 'The run was cancelled', `The run of ${effect.workflow} was cancelled.`),
  };
}
