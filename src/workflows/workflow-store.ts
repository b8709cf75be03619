import { type Kysely, type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables.ts';
import { readStorers, type Storer, storersAfter } from './storer.ts';
import { versionKey } from './version-key.ts';
import { type ListedWorkflows, listWorkflows, type WorkflowPage } from './workflow-list-store.ts';
import {
  type StoredWorkflow,
  storedBytes,
  versionColumns,
  versionOf,
  type WorkflowVersion,
  workflowIn,
  workflowRow,
} from './workflow-row.ts';
import { dropTombstone, keepTombstones, readTombstone } from './workflow-tombstone-store.ts';
import { nameOfNamer } from './workflow-use-store.ts';

export type { StoredWorkflow, WorkflowMediaType, WorkflowVersion } from './workflow-row.ts';

/** Which rows: all versions where `version` is absent. */
export interface WorkflowName {
  readonly id: string;
  readonly version?: string | undefined;
}

/** Who names versions that are to be deleted. */
export interface WorkflowUse {
  readonly byAutomation: boolean;
  /** `ID VERSION` of another stored workflow. */
  readonly byWorkflow: string | undefined;
}

/** The workflow documents on this store, by id and version. A version that exists never changes. */
export interface WorkflowStore {
  /** Stores the workflow, unless it exists. Answers what the store has then. `deleted`: a version of other bytes was deleted. */
  add(workflow: StoredWorkflow): Promise<StoredWorkflow | 'deleted'>;
  /** Without a version the highest release; where there is none, the highest pre-release. */
  read(name: WorkflowName): Promise<StoredWorkflow | undefined>;
  /** As `read`, without the text; but without a version a release alone. */
  find(name: WorkflowName): Promise<WorkflowVersion | undefined>;
  /** Every version of a workflow, the newest first. */
  versions(id: string): Promise<readonly WorkflowVersion[]>;
  /** Who stored these bytes, by digest. What the store does not have is not in the answer. */
  storers(digests: readonly string[]): Promise<ReadonlyMap<string, readonly Storer[]>>;
  list(page: WorkflowPage): Promise<ListedWorkflows>;
  /** Deletes what `judge` does not refuse by throwing, and leaves tombstones. No automation changes meanwhile. */
  remove(name: WorkflowName, judge: (found: readonly WorkflowVersion[], use: WorkflowUse) => Promise<void>): Promise<void>;
  /** Makes the taker storer of what `judge` does not refuse by throwing. Answers the versions. */
  take(
    name: WorkflowName & { readonly taker: NamedPrincipal },
    judge: (found: readonly WorkflowVersion[]) => Promise<void>,
  ): Promise<readonly string[]>;
  /** False: there is none. */
  removeTombstone(name: { readonly id: string; readonly version: string }): Promise<boolean>;
}

/** Whether an automation names the workflow. */
type NamedByAutomation = (transaction: Transaction<Tables>, id: string) => Promise<boolean>;

/** Milliseconds that a removal waits for the one before it, as for a lock of the store. */
const removalWait = 10_000;

export function createWorkflowStore(database: Database, isNamed: NamedByAutomation): WorkflowStore {
  // A removal that waits for the lock of PostgreSQL keeps a connection. One at a time leaves connections for readers.
  const removals = new Semaphore(1);
  const removeWorkflow = async (
    transaction: Transaction<Tables>,
    name: WorkflowName,
    judge: Parameters<WorkflowStore['remove']>[1],
  ): Promise<void> => {
    const found = await versionsOf(transaction, name);
    const byAutomation = await isNamed(transaction, name.id);
    await judge(found, { byAutomation, byWorkflow: await nameOfNamer(transaction, name.id, found) });
    await keepTombstones(transaction, found);
    const all = transaction.deleteFrom('workflow').where('id', '=', storedBytes(name.id));
    await (name.version === undefined ? all : all.where('version', '=', storedBytes(name.version))).execute();
  };
  return {
    add: (workflow) => database.exclusively('workflow', (transaction) => addWorkflow(transaction, workflow)),
    read: (name) => readOne(database.read, name),
    find: (name) => findOne(database.read, name),
    versions: (id) => versionsOf(database.read, { id }),
    storers: (digests) => storersOf(database.read, digests),
    list: (page) => listWorkflows(database.read, page),
    remove: (name, judge) =>
      removals.run(() => database.exclusively('automation', (transaction) => removeWorkflow(transaction, name, judge)), {
        limit: removalWait,
        late: () => storeUnavailable('waited too long to delete'),
      }),
    take: (name, judge) => database.exclusively('workflow', (transaction) => takeWorkflow(transaction, name, judge)),
    removeTombstone: (name) => dropTombstone(database.query, name),
  };
}

/** Who stored the same bytes before they were deleted stays on record. */
async function addWorkflow(transaction: Transaction<Tables>, workflow: StoredWorkflow): Promise<StoredWorkflow | 'deleted'> {
  const existing = await readOne(transaction, workflow);
  if (existing !== undefined) return existing;
  const tombstone = await readTombstone(transaction, workflow);
  if (tombstone !== undefined && tombstone.digest !== workflow.digest) return 'deleted';
  const [storer] = workflow.storers;
  const storers = storer === undefined ? workflow.storers : storersAfter(tombstone?.storers ?? [], storer);
  const stored = { ...workflow, storers };
  await transaction.insertInto('workflow').values(workflowRow(stored)).execute();
  await dropTombstone(transaction, workflow);
  return stored;
}

async function takeWorkflow(
  transaction: Transaction<Tables>,
  { taker, ...name }: Parameters<WorkflowStore['take']>[0],
  judge: Parameters<WorkflowStore['take']>[1],
): Promise<readonly string[]> {
  const found = await versionsOf(transaction, name);
  await judge(found);
  for (const { id, version, storers } of found) {
    await transaction
      .updateTable('workflow')
      .set({ storers: JSON.stringify(storersAfter(storers, taker)) })
      .where('id', '=', storedBytes(id))
      .where('version', '=', storedBytes(version))
      .execute();
  }
  return found.map(({ version }) => version);
}

async function storersOf(read: Kysely<Tables>, digests: readonly string[]): Promise<ReadonlyMap<string, readonly Storer[]>> {
  if (digests.length === 0) return new Map();
  const rows = await read.selectFrom('workflow').select(['digest', 'storers']).where('digest', 'in', digests).execute();
  return new Map(rows.map(({ digest, storers }) => [digest, readStorers(storers)]));
}

async function readOne(read: Kysely<Tables>, name: WorkflowName): Promise<StoredWorkflow | undefined> {
  const rows = rowsOf(read, name).clearOrderBy().orderBy(isRelease, 'desc');
  const row = await rows.orderBy('version_key', 'desc').orderBy('version', 'desc').selectAll().limit(1).executeTakeFirst();
  return row && workflowIn(row);
}

async function findOne(read: Kysely<Tables>, name: WorkflowName): Promise<WorkflowVersion | undefined> {
  const rows = rowsOf(read, name);
  const wanted = name.version === undefined ? rows.where(isRelease) : rows;
  const row = await wanted.select(versionColumns).limit(1).executeTakeFirst();
  return row && versionOf(row);
}

async function versionsOf(read: Kysely<Tables>, name: WorkflowName): Promise<readonly WorkflowVersion[]> {
  const rows = await rowsOf(read, name).select(versionColumns).execute();
  return rows.map(versionOf);
}

const releaseByte = versionKey('1.0.0').slice(-1);

/** The key of a version ends with a byte that only releases have. */
const isRelease: RawBuilder<SqlBool> = sql<SqlBool>`(substr(version_key, length(version_key), 1) = ${releaseByte})`;

/** The newest first. Versions of one precedence differ in their build metadata, which orders them by its bytes. */
function rowsOf(read: Kysely<Tables>, { id, version }: WorkflowName) {
  const all = read.selectFrom('workflow').where('id', '=', storedBytes(id));
  const named = version === undefined ? all : all.where('version', '=', storedBytes(version));
  return named.orderBy('version_key', 'desc').orderBy('version', 'desc');
}
