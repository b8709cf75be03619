import type { RunEvent } from '../interpreter/state/run-events.ts';
import type { RunState } from '../interpreter/state/run-state.ts';
import { begin } from '../interpreter/step.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import type { ClaimedRun, QueuedCommand, RunWrite } from '../journal/run-records.ts';
import { endForParent, mayChange } from './children/child-runs.ts';
import type { WorkedEffect } from './run-effects.ts';
import { createOutbox, type RunOutbox } from './run-outbox.ts';
import type { RunJournal, RunTools } from './run-tools.ts';

interface LostRunNeeds {
  readonly tools: Pick<RunTools, 'clock' | 'mayHaveCalled' | 'openBatches' | 'openChildren'>;
  readonly journal: RunJournal;
}

type Decision = Extract<QueuedCommand['command'], { readonly kind: 'decide' }>;

/**
 * Settles a run whose document is gone, or whose state cannot be read. It ends with the reason where none of its calls can have happened.
 * Otherwise it is suspended until people decide: an error would let its parent begin it again, and with it the calls.
 */
export async function settleLostRun(run: ClaimedRun, reason: EffectError, { tools, journal }: LostRunNeeds): Promise<void> {
  const commands = await journal.commandsOf([run.id]);
  const mayHaveCalled = run.state !== undefined && (await tools.mayHaveCalled(run));
  const outbox = outboxOf(run);
  for (const { number } of commands) outbox.consumed(number);
  if (commands.some(isCancel)) for (const child of await tools.openChildren(run.id)) outbox.command(child, { kind: 'cancel' });
  const at = tools.clock.now();
  const write = writeFor({ run, reason, commands, mayHaveCalled, outbox, at });
  const open = write.endedAt === undefined ? [] : await tools.openBatches(run.id);
  const batches = open.map((call) => ({ ...call, state: 'cancelled' as const }));
  await journal.save({ ...write, batches });
}

interface Settling {
  readonly run: ClaimedRun;
  readonly reason: EffectError;
  readonly commands: readonly QueuedCommand[];
  readonly mayHaveCalled: boolean;
  readonly outbox: RunOutbox;
  readonly at: number;
}

function writeFor({ run, reason, commands, mayHaveCalled, outbox, at }: Settling): RunWrite {
  // An item of a batch whose call is undecided is not cancelled: people decide.
  if (commands.some(isCancel) && (run.item === undefined || !mayHaveCalled)) return cancelled(run, { outbox, at, mayHaveCalled });
  if (!mayHaveCalled) return faulted(run, { reason, outbox, at });
  const decision = commands.map(({ command }) => command).find((command) => command.kind === 'decide' && command.as !== 'again');
  return decision?.kind === 'decide' ? decided(run, decision, { reason, outbox, at }) : suspended(run, { outbox, at });
}

function isCancel({ command }: QueuedCommand): boolean {
  return command.kind === 'cancel';
}

/** The write that ends a run which cannot go on, and nothing of which can have happened. */
export function endedEarly(run: ClaimedRun, reason: EffectError, at: number): RunWrite {
  return faulted(run, { reason, outbox: outboxOf(run), at });
}

interface Ending {
  readonly outbox: RunOutbox;
  readonly at: number;
}

function faulted(run: ClaimedRun, { reason, outbox, at }: Ending & { readonly reason: EffectError }): RunWrite {
  const error = { ...reason, instance: '' };
  const state = { ...stateOf(run), status: 'faulted' as const, endedAt: at, error };
  outbox.notes([{ of: 'run', kind: 'faulted', at, error }]);
  tellParent(run, state, outbox);
  return outbox.take(state, undefined);
}

function cancelled(run: ClaimedRun, { outbox, at, mayHaveCalled }: Ending & Pick<Settling, 'mayHaveCalled'>): RunWrite {
  const state = { ...stateOf(run), status: 'cancelled' as const, endedAt: at };
  outbox.notes([{ of: 'run', kind: 'cancelled', at }]);
  tellParent(run, state, outbox, mayHaveCalled ? 'was cancelled, and its calls may have happened' : undefined);
  return outbox.take(state, undefined);
}

/** The run cannot go on after a decision either. Its parent gets the error only where people found out that nothing happened. */
function decided(
  run: ClaimedRun,
  { as, reason: words, principal: username, principalId: id, ofSeveral }: Decision,
  { reason, outbox, at }: Ending & { readonly reason: EffectError },
): RunWrite {
  if (id !== undefined) outbox.person({ id, username, as: 'decision' });
  const detail = `${reason.detail ?? ''} Decided by people as ${as}: ${words}`;
  const error = { ...reason, detail, instance: '' };
  const state = { ...stateOf(run), status: 'faulted' as const, endedAt: at, error };
  outbox.notes([{ of: 'run', kind: 'faulted', at, error }]);
  const isKnown = as === 'failed' && ofSeveral !== true;
  tellParent(run, state, outbox, isKnown ? undefined : `cannot go on, and its calls may have happened: ${detail}`);
  return outbox.take(state, undefined);
}

function suspended(run: ClaimedRun, { outbox, at }: Ending): RunWrite {
  const suspendedBy = 'unknown-outcome';
  if (run.status !== 'suspended') outbox.notes([{ of: 'run', kind: 'suspended', at, suspendedBy }]);
  const write = outbox.take({ ...stateOf(run), status: 'suspended' }, { wakeAt: undefined, scanned: undefined }, true);
  // Its state stays as it is: the same document may be stored again.
  return { ...write, suspendedBy, state: run.state };
}

function tellParent(run: ClaimedRun, state: RunState, outbox: RunOutbox, unknown?: string): void {
  for (const { run: parent, command } of endForParent(run, state, unknown)) outbox.command(parent, command);
}

function stateOf({ id, seed, input, createdAt, startedAt }: ClaimedRun): RunState {
  return { ...begin({ id, seed, input, at: createdAt, runtime: { name: '', version: '' } }), startedAt };
}

function outboxOf(run: ClaimedRun): RunOutbox {
  const [namespace = '', name = ''] = run.workflow.split('.');
  return createOutbox(run, { id: run.workflow, name, namespace, version: run.version });
}

/** So many gateways may die at a task. */
export const maxAbandonedClaims = 3;

/** The error of a task at which gateways died too often. */
export function gatewaysEnded(abandonedClaims: number): EffectError {
  const detail = `${abandonedClaims} gateways ended while they worked on this task, so it is not tried again.`;
  return standardError('runtime', 'Gateways ended at this task', detail);
}

/** What ends a task at which gateways died too often. Undefined: it goes on. */
export function endAbandoned(effect: WorkedEffect, abandonedClaims: number, at: number): RunEvent | undefined {
  if (effect.kind === 'listen' || abandonedClaims < maxAbandonedClaims) return undefined;
  const { key } = effect;
  const error = gatewaysEnded(abandonedClaims);
  if (!mayChange([effect])) return { kind: 'failed', at, key, error };
  // The action may have happened: an error that a `retry` takes would make it again.
  return { kind: 'callEnded', at, key, result: { kind: 'unknown', detail: `outcome-unknown: ${error.detail ?? ''}` } };
}
