import { resultForTask } from './child-runs.ts';
import type { ChildEffect, Effect } from './interpreter/effects.ts';
import type { RunEvent } from './interpreter/run-events.ts';
import type { QueuedCommand, RunCommand, RunPerson } from './run-records.ts';

/** The event that a command is for a run with these effects. Undefined where no task waits for the run that ended, or the holder only looks again. */
export function eventOfCommand(
  { command }: QueuedCommand,
  { at, effects }: { readonly at: number; readonly effects: readonly Effect[] },
): RunEvent | undefined {
  if (command.kind === 'decide') {
    const { activity, as, reason, output } = command;
    return { kind: 'decided', at, activity, as, reason, ...(output !== undefined && { output }) };
  }
  if (command.kind === 'approval-decided' || command.kind === 'people-changed') return undefined;
  if (command.kind !== 'child-ended') return { ...command, at };
  const { activity, attempt, result } = command;
  const effect = effects.find(
    (one): one is ChildEffect => one.kind === 'child' && one.activity === activity && one.attempt === attempt,
  );
  return effect && { kind: 'childEnded', at, key: effect.key, result: resultForTask(result, effect) };
}

/** Who sent an event that a run took, or decided about its call: they have a hand in it from this step on. */
export function joinedBy(event: RunEvent, command: RunCommand | undefined): readonly RunPerson[] {
  if (event.kind === 'eventArrived') return (event.senders ?? []).map((sender) => ({ ...sender, as: 'event' }));
  if (command?.kind !== 'decide' || command.principalId === undefined) return [];
  return [{ id: command.principalId, username: command.principal, as: 'decision' }];
}
