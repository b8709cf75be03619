import type { RunEvent } from './interpreter/run-events.ts';
import type { RunCommand, RunPerson } from './run-records.ts';

/** Who sent an event that the run took, or decided about its call, has a hand in it from this step on. */
export function joinedBy(event: RunEvent, command: RunCommand | undefined): readonly RunPerson[] {
  const senders = event.kind === 'eventArrived' ? (event.senders ?? []) : [];
  const joined = senders.map((sender): RunPerson => ({ ...sender, as: 'event' }));
  if (command?.kind !== 'decide' || command.principalId === undefined) return joined;
  return [...joined, { id: command.principalId, username: command.principal, as: 'decision' }];
}
