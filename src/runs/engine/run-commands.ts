import type { ChildEffect, Effect } from '../interpreter/effects.ts';
import type { Note, RunEvent } from '../interpreter/state/run-events.ts';
import type { ClaimedRun, QueuedCommand, RunCommand, RunPerson, TaskDecision } from '../journal/run-records.ts';
import { resultForTask } from './children/child-runs.ts';
import type { RunOutbox } from './run-outbox.ts';
import type { RunJournal } from './run-tools.ts';
import { isPassingRefusal } from './until-stored.ts';

/** What happened, or a command, which becomes an event once it is known what the run waits for. */
export type Arrival =
  | { readonly event: RunEvent; readonly command?: undefined }
  | { readonly command: QueuedCommand; readonly event?: undefined };

/** Commands that wait. None while the store is away, as its own log says: the next renewal of the lease tells that commands wait. */
export async function commandsUnlessAway(
  journal: Pick<RunJournal, 'commandsOf'>,
  run: string,
): Promise<readonly QueuedCommand[]> {
  try {
    return await journal.commandsOf([run]);
  } catch (error) {
    if (!isPassingRefusal(error)) throw error;
    return [];
  }
}

type Command<Kind extends RunCommand['kind']> = Extract<RunCommand, { readonly kind: Kind }>;

/** The holder looks again, and the run itself learns nothing. */
function onlyLooks(command: RunCommand): command is Command<'approval-decided' | 'people-changed' | 'items-changed'> {
  return command.kind === 'approval-decided' || command.kind === 'people-changed' || command.kind === 'items-changed';
}

interface Circumstances {
  readonly at: number;
  readonly effects: readonly Effect[];
  readonly run: Pick<ClaimedRun, 'item'>;
}

/** The event that a command is for a run with these effects. Undefined where no task waits for the run that ended, or the holder only looks again. */
export function eventOfCommand({ command }: QueuedCommand, { at, effects, run }: Circumstances): RunEvent | undefined {
  if (onlyLooks(command)) return undefined;
  switch (command.kind) {
    case 'decide':
      return decidedEvent(command, at);
    case 'cancel':
      return { kind: 'cancel', at, ...(run.item !== undefined && { settles: true }) };
    case 'call-ended':
      return { ...command, kind: 'callEnded', at };
    case 'resume':
      return { kind: 'resume', at, ...(command.inherited && { inherited: true }) };
    case 'child-ended':
      return childEndedEvent(command, { at, effects });
    default:
      return { ...command, at };
  }
}

function decidedEvent({ activity, as, reason, output }: Command<'decide'>, at: number): RunEvent {
  return { kind: 'decided', at, activity, as, reason, ...(output !== undefined && { output }) };
}

function childEndedEvent(
  { activity, attempt, result }: Command<'child-ended'>,
  { at, effects }: Omit<Circumstances, 'run'>,
): RunEvent | undefined {
  const effect = effects.find(
    (one): one is ChildEffect => one.kind === 'child' && one.activity === activity && one.attempt === attempt,
  );
  return effect && { kind: 'childEnded', at, key: effect.key, result: resultForTask(result, effect) };
}

/** Who sent an event that a run took, or decided about its call: they have a hand in it from this step on. */
function joinedBy(event: RunEvent, command: RunCommand | undefined): readonly RunPerson[] {
  if (event.kind === 'eventArrived') return (event.senders ?? []).map((sender) => ({ ...sender, as: 'event' }));
  if (command?.kind !== 'decide' || command.principalId === undefined) return [];
  return [{ id: command.principalId, username: command.principal, as: 'decision' }];
}

/** What people decided about tasks with the command that made these notes: with a resumption, about all that it resumes. */
function decidedBy(
  command: RunCommand,
  notes: readonly Note[],
  at: number,
): readonly { readonly activity: number; readonly decision: TaskDecision }[] {
  if (command.kind === 'decide') {
    const { activity, as, principal, reason } = command;
    return [{ activity, decision: { as, principal, at, reason } }];
  }
  const { decision } = command.kind === 'resume' ? command : {};
  if (decision === undefined) return [];
  return notes.flatMap((note) => (note.of === 'task' && note.kind === 'resumed' ? [{ activity: note.activity, decision }] : []));
}

/** The timeline learns what people decided about a call that waited for them. */
export function noteDecision(outbox: Pick<RunOutbox, 'decided'>, command: RunCommand): void {
  if (command.kind !== 'approval-decided' || command.activity === undefined || command.decision === undefined) return;
  outbox.decided(command.activity, command.decision);
}

/** The store learns who joined the run with an event, and what people decided with its command. */
export function noteCommand(
  outbox: Pick<RunOutbox, 'decided' | 'person'>,
  {
    event,
    command,
    notes,
  }: { readonly event: RunEvent; readonly command: RunCommand | undefined; readonly notes: readonly Note[] },
): void {
  for (const person of joinedBy(event, command)) outbox.person(person);
  if (command === undefined) return;
  for (const { activity, decision } of decidedBy(command, notes, event.at)) outbox.decided(activity, decision);
}

/** People say that a call did not happen, so nothing after it did. Where it happened, the next one may have as well. */
export function saysNotMade(command: RunCommand): boolean {
  return command.kind === 'decide' && command.as !== 'done' && command.ofSeveral !== true;
}
