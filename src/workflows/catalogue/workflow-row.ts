import { createHash } from 'node:crypto';
import type { NamedPrincipal } from '#access/people.ts';
import { everyVersion } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { WorkflowFacts } from '../reading-threads.ts';
import { versionKey } from './version-key.ts';

export type WorkflowMediaType = Tables['workflow']['media_type'];

export interface StoredWorkflow extends WorkflowFacts {
  readonly text: string;
  /** SHA-256, hexadecimal. */
  readonly digest: string;
  readonly mediaType: WorkflowMediaType;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly createdBy: string;
  /** Where none lends, the storer is unknown or was not looked for yet. */
  readonly storers: readonly Storer[];
  /** The lowest version that may act on it (row-version.ts). Absent: every version. */
  readonly lowest?: number | undefined;
}

export type WorkflowCalls = Omit<WorkflowFacts, 'definition'>;

export type WorkflowVersion = WorkflowCalls & Pick<StoredWorkflow, 'digest' | 'storers' | 'lowest'>;

export const storedBytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const storedText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export const versionColumns = ['id', 'version', 'facts', 'created_at', 'created_by', 'digest', 'storers', 'lowest'] as const;

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
    facts: JSON.stringify({ title, functions, workflows, calls, secrets }),
    created_at: createdAt,
    created_by: createdBy,
    digest,
    storers: JSON.stringify(storers),
    lowest: everyVersion,
  } satisfies Tables['workflow'];
}

export function workflowIn(row: Tables['workflow']): StoredWorkflow {
  const { document, media_type: mediaType, definition } = row;
  return { ...versionOf(row), ...stampOf(row), definition, text: storedText(document), mediaType };
}

type StoredFacts = Omit<WorkflowFacts, 'id' | 'version' | 'definition'>;

export function versionOf({ id, version, facts, digest, storers, lowest }: VersionRow): WorkflowVersion {
  return {
    id: storedText(id),
    version: storedText(version),
    ...(JSON.parse(facts) as StoredFacts),
    digest,
    storers: readStorers(storers),
    ...(lowest !== everyVersion && { lowest }),
  };
}

export function stampOf({
  created_at: createdAt,
  created_by: createdBy,
}: VersionRow): Pick<StoredWorkflow, 'createdAt' | 'createdBy'> {
  return { createdAt, createdBy };
}

/** `lends`: the calls in the bytes have the rights of this storer. False for those who stored the same bytes earlier. */
export interface Storer extends NamedPrincipal {
  readonly lends: boolean;
}

export function storersAfter(earlier: readonly Storer[], { id, username }: NamedPrincipal): readonly Storer[] {
  const others = earlier.filter((storer) => storer.id !== id).map((storer) => ({ ...storer, lends: false }));
  return [{ id, username, lends: true }, ...others];
}

/** An unknown storer lends nothing. */
export function readStorers(text: string | null): readonly Storer[] {
  return text === null ? [] : (JSON.parse(text) as readonly Storer[]);
}

/** SHA-256, hexadecimal. */
export function documentDigest(document: string): string {
  return createHash('sha256').update(document).digest('hex');
}
