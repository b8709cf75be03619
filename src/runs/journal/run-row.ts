import { createHash } from 'node:crypto';
import type { InvolvedPrincipal, NamedPrincipal } from '#access/people.ts';
import { defined } from '#base/text/defined.ts';
import { everyVersion } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { SuspensionReason } from '../interpreter/state/run-events.ts';
import type { RunStatus } from '../interpreter/state/run-state.ts';
import type { TaskError } from '../interpreter/task-error.ts';
import { unpackedEvents } from './events/packed-events.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { EventRecord, NewEvent, NewRun, NotStored, QueuedCommand, RunCommand, StoredRun } from './run-records.ts';

/** What the column `facts` of `run` has as JSON text. */
type RunFacts = Pick<
  NewRun,
  'automation' | 'seed' | 'principal' | 'startedBy' | 'parent' | 'workflowDigest' | 'pins' | 'authors'
> &
  // Rows of earlier versions do not have them.
  Partial<
    Pick<NewRun, 'above' | 'involved' | 'owner' | 'notBefore' | 'passwordFields' | 'item' | 'around' | 'repeats' | 'entrance'>
  >;

/** Makes texts of any length and content comparable. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function factsText({
  automation,
  seed,
  principal,
  startedBy,
  parent,
  workflowDigest,
  pins,
  above,
  authors,
  owner,
  involved,
  notBefore,
  passwordFields,
  item,
  around,
  repeats,
  entrance,
}: NewRun): string {
  return JSON.stringify({
    automation,
    seed,
    principal,
    startedBy,
    parent,
    workflowDigest,
    pins,
    above,
    authors,
    owner,
    involved,
    notBefore,
    passwordFields,
    item,
    around,
    repeats,
    entrance,
  } satisfies RunFacts);
}

export function rowOfRun(run: NewRun, createdAt: number): Tables['run'] {
  const { id, automation, workflow, version, principal, parent, item } = run;
  const facts = factsText(run);
  return {
    id,
    automation: automation?.id ?? null,
    workflow,
    version,
    principal_digest: digestOf(principal.id),
    username_digest: digestOf(principal.username),
    parent: parent?.run ?? null,
    status: 'pending',
    created_at: createdAt,
    started_at: null,
    ended_at: null,
    facts,
    error: null,
    suspended_by: null,
    not_stored: null,
    bytes: Buffer.byteLength(facts) + Buffer.byteLength(run.input),
    data_bytes: 0,
    is_stripped: 0,
    in_batch: item?.run ?? null,
    is_undecided: 0,
    rest_taken_by: null,
    lowest: lowestOf(run),
  };
}

/** A run needs the version that its documents need. */
export function lowestOf({ pins = [] }: Pick<NewRun, 'pins'>): number {
  return Math.max(everyVersion, ...pins.map(({ lowest = everyVersion }) => lowest));
}

/** The run as the store has it after its creation. */
export function createdRun(run: NewRun, createdAt: number): StoredRun {
  const open = { suspendedBy: undefined, startedAt: undefined, endedAt: undefined, output: undefined, error: undefined };
  return { ...run, status: 'pending', createdAt, ...open };
}

export const summaryColumns = [
  'id',
  'workflow',
  'version',
  'status',
  'created_at',
  'started_at',
  'ended_at',
  'facts',
  'error',
  'suspended_by',
  'not_stored',
  'lowest',
] as const satisfies readonly (keyof Tables['run'])[];

export function summaryOf(row: Pick<Tables['run'], (typeof summaryColumns)[number]>): StoredRunSummary {
  const facts = JSON.parse(row.facts) as RunFacts;
  const { automation, seed, principal, startedBy, parent, workflowDigest, pins, above = [], authors } = facts;
  const { owner, notBefore, passwordFields, item, around, repeats, entrance } = facts;
  return {
    id: row.id,
    automation,
    workflow: row.workflow,
    version: row.version,
    seed,
    principal,
    workflowDigest,
    pins,
    above,
    authors,
    involved: facts.involved ?? starterOf(principal, startedBy),
    startedBy,
    parent,
    status: row.status as RunStatus,
    suspendedBy: (row.suspended_by ?? undefined) as SuspensionReason | undefined,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    error: row.error === null ? undefined : (JSON.parse(row.error) as TaskError),
    ...(row.lowest !== everyVersion && { lowest: row.lowest }),
    ...(row.not_stored !== null && { notStored: JSON.parse(row.not_stored) as NotStored }),
    ...defined({ owner, notBefore, passwordFields, item, around, repeats, entrance }),
  };
}

/** Who is behind a run by its start alone. */
export function starterOf({ id, username }: NamedPrincipal, startedBy: NewRun['startedBy']): readonly InvolvedPrincipal[] {
  return [{ id, username, as: ['due' in startedBy ? 'scheduler' : 'starter'] }];
}

export function commandOf({ number, run, command }: Pick<Tables['run_command'], 'number' | 'run' | 'command'>): QueuedCommand {
  return { number, run, command: JSON.parse(command) as RunCommand };
}

export function eventsOf(row: Omit<Tables['event_log'], 'sender_digest'>): readonly EventRecord[] {
  const { run, automation, kind, senders } = row;
  const sent = senders === null ? {} : { senders: JSON.parse(senders) as readonly NamedPrincipal[] };
  const common = { run: run ?? undefined, automation: automation ?? undefined, kind, ...sent };
  return unpackedEvents(row).map(({ number, at, event }) => ({ ...common, number, at, event }));
}

/** Of the sender, the source and the id. Null where the text is no CloudEvent: it has no identity, and each is stored. */
export function identityOf({ kind, event, packed }: NewEvent): string | null {
  if (packed !== undefined) return packed.identity;
  const read: unknown = JSON.parse(event);
  if (typeof read !== 'object' || read === null || !('source' in read) || !('id' in read)) return null;
  return identityOfEvent(kind, read.source, read.id, 'sender' in read ? read.sender : undefined);
}

export function identityOfEvent(kind: NewEvent['kind'], source: unknown, id: unknown, sender?: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sender === undefined ? [kind, source, id] : [kind, source, id, sender]))
    .digest('base64url');
}
