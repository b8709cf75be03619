import { type Kysely, type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables/tables.ts';
import { isPrerelease, versionKey } from './version-key.ts';
import { type ListedWorkflows, listWorkflows, type WorkflowPage } from './workflow-list-store.ts';
import {
  readStorers,
  type StoredWorkflow,
  type Storer,
  storedBytes,
  storedText,
  storersAfter,
  versionColumns,
  versionOf,
  type WorkflowVersion,
  workflowIn,
  workflowRow,
} from './workflow-row.ts';

export type { StoredWorkflow, WorkflowMediaType, WorkflowVersion } from './workflow-row.ts';

/** Without `version`: all versions. */
export interface WorkflowName {
  readonly id: string;
  readonly version?: string | undefined;
}

export interface WorkflowUse {
  readonly byAutomation: boolean;
  /** `ID VERSION` of another stored workflow. */
  readonly byWorkflow: string | undefined;
}

/** `isNew`: it was not there. */
export type AddedWorkflow = { readonly stored: StoredWorkflow; readonly isNew: boolean } | 'deleted';

/** A version never changes. */
export interface WorkflowStore {
  /** Answers what is stored then. `deleted`: a version of other bytes was deleted. */
  add(workflow: StoredWorkflow): Promise<AddedWorkflow>;
  /** In a transaction of an import. */
  addIn(transaction: Transaction<Tables>, workflow: StoredWorkflow): Promise<AddedWorkflow>;
  /** Without a version the highest release, else the highest pre-release. */
  read(name: WorkflowName): Promise<StoredWorkflow | undefined>;
  /** Without the text; without a version only a release. */
  find(name: WorkflowName): Promise<WorkflowVersion | undefined>;
  /** The newest first. */
  versions(id: string): Promise<readonly WorkflowVersion[]>;
  /** By digest, of those that are stored. */
  storers(digests: readonly string[]): Promise<ReadonlyMap<string, readonly Storer[]>>;
  list(page: WorkflowPage): Promise<ListedWorkflows>;
  /** Every version at a moment, in groups; the oldest version of each id first. */
  all(moment: Kysely<Tables>): AsyncGenerator<readonly StoredWorkflow[], void, undefined>;
  /** Deletes unless `judge` throws, and leaves tombstones. No automation changes meanwhile. */
  remove(name: WorkflowName, judge: (found: readonly WorkflowVersion[], use: WorkflowUse) => Promise<void>): Promise<void>;
  /** Makes the taker storer unless `judge` throws. Answers the versions. */
  take(
    name: WorkflowName & { readonly taker: NamedPrincipal },
    judge: (found: readonly WorkflowVersion[]) => Promise<void>,
  ): Promise<readonly string[]>;
  removeTombstone(name: { readonly id: string; readonly version: string }): Promise<boolean>;
}

type NamedByAutomation = (transaction: Transaction<Tables>, id: string) => Promise<boolean>;

/** Milliseconds. */
const removalWait = 10_000;

export function createWorkflowStore(database: Database, isNamed: NamedByAutomation): WorkflowStore {
  // A removal that waits for a lock of PostgreSQL holds a connection, and readers need connections too.
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
    async addIn(transaction, workflow) {
      if (database.dialect === 'postgres') await sql`lock table workflow in share row exclusive mode`.execute(transaction);
      return await addWorkflow(transaction, workflow);
    },
    read: (name) => readOne(database.read, name),
    find: (name) => findOne(database.read, name),
    versions: (id) => versionsOf(database.read, { id }),
    storers: (digests) => storersOf(database.read, digests),
    list: (page) => listWorkflows(database.read, page),
    all: allWorkflows,
    remove: (name, judge) =>
      removals.run(() => database.exclusively('automation', (transaction) => removeWorkflow(transaction, name, judge)), {
        limit: removalWait,
        late: () => storeUnavailable('waited too long to delete'),
      }),
    take: (name, judge) => database.exclusively('workflow', (transaction) => takeWorkflow(transaction, name, judge)),
    removeTombstone: (name) => dropTombstone(database.query, name),
  };
}

/** Earlier storers of the same bytes stay on record. */
async function addWorkflow(transaction: Transaction<Tables>, workflow: StoredWorkflow): Promise<AddedWorkflow> {
  const existing = await readOne(transaction, workflow);
  if (existing !== undefined) return { stored: existing, isNew: false };
  const tombstone = await readTombstone(transaction, workflow);
  if (tombstone !== undefined && tombstone.digest !== workflow.digest) return 'deleted';
  const [storer] = workflow.storers;
  const storers = storer === undefined ? workflow.storers : storersAfter(tombstone?.storers ?? [], storer);
  const stored = { ...workflow, storers };
  await transaction.insertInto('workflow').values(workflowRow(stored)).execute();
  await dropTombstone(transaction, workflow);
  return { stored, isNew: true };
}

/** Documents in memory at a time. */
const exportedAtOnce = 20;

async function* allWorkflows(moment: Kysely<Tables>): AsyncGenerator<readonly StoredWorkflow[], void, undefined> {
  let last: Pick<Tables['workflow'], 'id' | 'version_key' | 'version'> | undefined;
  do {
    const all = moment.selectFrom('workflow').selectAll().orderBy('id').orderBy('version_key').orderBy('version');
    const rest = last && all.where(sql<SqlBool>`(id, version_key, version) > (${last.id}, ${last.version_key}, ${last.version})`);
    const rows = await (rest ?? all).limit(exportedAtOnce).execute();
    yield rows.map(workflowIn);
    last = rows.at(-1);
  } while (last !== undefined);
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

const isRelease: RawBuilder<SqlBool> = sql<SqlBool>`(substr(version_key, length(version_key), 1) = ${releaseByte})`;

/** The newest first. Versions that differ in build metadata alone are in the order of its bytes. */
function rowsOf(read: Kysely<Tables>, { id, version }: WorkflowName) {
  const all = read.selectFrom('workflow').where('id', '=', storedBytes(id));
  const named = version === undefined ? all : all.where('version', '=', storedBytes(version));
  return named.orderBy('version_key', 'desc').orderBy('version', 'desc');
}

interface Tombstone {
  readonly digest: string;
  readonly storers: readonly Storer[];
}

interface VersionName {
  readonly id: string;
  readonly version: string;
}

async function keepTombstones(transaction: Transaction<Tables>, versions: readonly WorkflowVersion[]): Promise<void> {
  for (const { id, version, digest, storers } of versions) {
    await transaction
      .insertInto('workflow_tombstone')
      .values({ id: storedBytes(id), version: storedBytes(version), digest, storers: JSON.stringify(storers) })
      .execute();
  }
}

async function readTombstone(read: Kysely<Tables>, { id, version }: VersionName): Promise<Tombstone | undefined> {
  const row = await read
    .selectFrom('workflow_tombstone')
    .select(['digest', 'storers'])
    .where('id', '=', storedBytes(id))
    .where('version', '=', storedBytes(version))
    .executeTakeFirst();
  return row && { digest: row.digest, storers: readStorers(row.storers) };
}

async function dropTombstone(query: Kysely<Tables>, { id, version }: VersionName): Promise<boolean> {
  const { numDeletedRows } = await query
    .deleteFrom('workflow_tombstone')
    .where('id', '=', storedBytes(id))
    .where('version', '=', storedBytes(version))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** `ID VERSION` of another workflow that runs a version to delete. `latest` names the last release that is left. */
async function nameOfNamer(
  transaction: Transaction<Tables>,
  id: string,
  deleted: readonly WorkflowVersion[],
): Promise<string | undefined> {
  const versions = new Set(deleted.map(({ version }) => version));
  const named = new Set(versions);
  const isLast = deleted.some(({ version }) => !isPrerelease(version)) && !(await keepsRelease(transaction, id, versions));
  if (isLast) named.add('latest');
  const rows = await transaction
    .selectFrom('workflow')
    .select(versionColumns)
    // Ids have no special character. The rows are read exactly below.
    .where('facts', 'like', `%"id":${JSON.stringify(id)},"version":%`)
    .execute();
  for (const each of rows.map(versionOf)) {
    if (each.id === id && versions.has(each.version)) continue;
    if (each.workflows.some((run) => run.id === id && named.has(run.version))) return `${each.id} ${each.version}`;
  }
  return undefined;
}

async function keepsRelease(transaction: Transaction<Tables>, id: string, deleted: ReadonlySet<string>): Promise<boolean> {
  const rows = await transaction.selectFrom('workflow').select('version').where('id', '=', storedBytes(id)).execute();
  return rows.map(({ version }) => storedText(version)).some((version) => !deleted.has(version) && !isPrerelease(version));
}

/** From a gateway that kept only the name of the storer. */
export interface UnsettledVersion {
  readonly id: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly createdBy: string;
}

export async function unsettledVersions({ query }: Pick<Database, 'query'>): Promise<readonly UnsettledVersion[]> {
  const rows = await query
    .selectFrom('workflow')
    .select(['id', 'version', 'created_at', 'created_by'])
    .where('storers', 'is', null)
    .orderBy('id')
    .orderBy('version')
    .limit(100)
    .execute();
  return rows.map(({ id, version, created_at: createdAt, created_by: createdBy }) => {
    return { id: storedText(id), version: storedText(version), createdAt, createdBy };
  });
}

/** Another gateway may have settled the version meanwhile. */
export async function settleStorers(
  { query }: Pick<Database, 'query'>,
  { id, version }: UnsettledVersion,
  storers: readonly Storer[],
): Promise<void> {
  await query
    .updateTable('workflow')
    .set({ storers: JSON.stringify(storers) })
    .where('id', '=', storedBytes(id))
    .where('version', '=', storedBytes(version))
    .where('storers', 'is', null)
    .execute();
}
