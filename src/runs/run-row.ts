import { createHash } from 'node:crypto';
import type { Tables } from '#database/tables.ts';
import type { RunStatus } from './interpreter/run-state.ts';
import type { TaskError } from './interpreter/task-error.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { EventRecord, NewEvent, NewRun, QueuedCommand, RunCommand, StoredRun } from './run-records.ts';

/** What the column `facts` of `run` has as JSON text. */
type RunFacts = Pick<NewRun, 'automation' | 'seed' | 'principal' | 'delegated' | 'startedBy' | 'parent'>;

/** Makes texts of any length and content comparable. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function rowOfRun(run: NewRun, createdAt: number): Tables['run'] {
  const { id, automation, workflow, version, seed, principal, delegated, startedBy, parent } = run;
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
    facts: JSON.stringify({ automation, seed, principal, delegated, startedBy, parent } satisfies RunFacts),
    error: null,
  };
}

/** The run as the store has it after its creation. */
export function createdRun(run: NewRun, createdAt: number): StoredRun {
  return { ...run, status: 'pending', createdAt, startedAt: undefined, endedAt: undefined, output: undefined, error: undefined };
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
] as const satisfies readonly (keyof Tables['run'])[];

export function summaryOf(row: Pick<Tables['run'], (typeof summaryColumns)[number]>): StoredRunSummary {
  const { automation, seed, principal, delegated, startedBy, parent } = JSON.parse(row.facts) as RunFacts;
  return {
    id: row.id,
    automation,
    workflow: row.workflow,
    version: row.version,
    seed,
    principal,
    delegated,
    startedBy,
    parent,
    status: row.status as RunStatus,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    error: row.error === null ? undefined : (JSON.parse(row.error) as TaskError),
  };
}

export function commandOf({ number, run, command }: Pick<Tables['run_command'], 'number' | 'run' | 'command'>): QueuedCommand {
  return { number, run, command: JSON.parse(command) as RunCommand };
}

export function eventOf({ number, at, run, automation, kind, event }: Omit<Tables['event_log'], 'identity'>): EventRecord {
  return { number, at, run: run ?? undefined, automation: automation ?? undefined, kind, event };
}

/** Null where the text is no CloudEvent: it has no identity, and each is stored. */
export function identityOf({ kind, event }: NewEvent): string | null {
  const read: unknown = JSON.parse(event);
  if (typeof read !== 'object' || read === null || !('source' in read) || !('id' in read)) return null;
  return identityOfEvent(kind, read.source, read.id);
}

export function identityOfEvent(kind: NewEvent['kind'], source: unknown, id: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, source, id]))
    .digest('base64url');
}
