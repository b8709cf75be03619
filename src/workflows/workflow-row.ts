import type { Tables } from '#database/tables.ts';
import type { WorkflowFacts } from './reading-threads.ts';
import { readStorers, type Storer } from './storer.ts';
import { versionKey } from './version-key.ts';

export type WorkflowMediaType = Tables['workflow']['media_type'];

/** One version of a workflow in the store. */
export interface StoredWorkflow extends WorkflowFacts {
  /** As it was written. */
  readonly text: string;
  /** SHA-256 of the bytes, hexadecimal. */
  readonly digest: string;
  readonly mediaType: WorkflowMediaType;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly createdBy: string;
  /** Where none of them lends, who stored it is not known, or was not looked for yet. */
  readonly storers: readonly Storer[];
}

/** What a version calls, without its text. */
export type WorkflowCalls = Omit<WorkflowFacts, 'definition'>;

/** What a version calls, and who stored it. */
export type WorkflowVersion = WorkflowCalls & Pick<StoredWorkflow, 'digest' | 'storers'>;

export const storedBytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const storedText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export const versionColumns = ['id', 'version', 'facts', 'created_at', 'created_by', 'digest', 'storers'] as const;

export type VersionRow = Pick<Tables['workflow'], (typeof versionColumns)[number]>;

export function workflowRow({
  id,
  version,
  title,
  definition,
  functions,
  workflows,
  calls,
  secrets,
  storers,
  ...workflow
}: StoredWorkflow) {
  const { text, digest, mediaType, createdAt, createdBy } = workflow;
  return {
    id: storedBytes(id),
    version: storedBytes(version),
    version_key: versionKey(version),
    document: storedBytes(text),
    media_type: mediaType,
    definition,
    facts: JSON.stringify({ title, functions, workflows, calls, secrets } satisfies StoredFacts),
    created_at: createdAt,
    created_by: createdBy,
    digest,
    storers: JSON.stringify(storers),
  } satisfies Tables['workflow'];
}

export function workflowIn(row: Tables['workflow']): StoredWorkflow {
  const { document, media_type: mediaType, definition } = row;
  return { ...versionOf(row), ...stampOf(row), definition, text: storedText(document), mediaType };
}

interface StoredFacts extends Pick<WorkflowFacts, 'functions' | 'workflows'> {
  readonly title?: string | undefined;
  readonly calls?: WorkflowFacts['calls'] | undefined;
  readonly secrets?: WorkflowFacts['secrets'] | undefined;
}

export function versionOf({ id, version, facts, digest, storers }: VersionRow): WorkflowVersion {
  const { title, functions, workflows, ...noted } = JSON.parse(facts) as StoredFacts;
  const { calls, secrets } = noted;
  const known = { ...(title !== undefined && { title }), ...(calls && { calls }), ...(secrets && { secrets }) };
  return {
    id: storedText(id),
    version: storedText(version),
    functions,
    workflows,
    ...known,
    digest,
    storers: readStorers(storers),
  };
}

export function stampOf({
  created_at: createdAt,
  created_by: createdBy,
}: VersionRow): Pick<StoredWorkflow, 'createdAt' | 'createdBy'> {
  return { createdAt, createdBy };
}
