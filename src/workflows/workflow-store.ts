import { type Kysely, sql, type Transaction } from 'kysely';
import type { Role } from '#access/principal.ts';
import { Semaphore } from '#base/semaphore.ts';
import type { Database } from '#database/database.ts';
import { storeUnavailable } from '#database/store-failure.ts';
import type { Tables } from '#database/tables.ts';
import { adminFunction } from './operations.ts';
import type { WorkflowFacts } from './reading-threads.ts';
import { versionKey } from './version-key.ts';

export type WorkflowMediaType = Tables['workflow']['media_type'];

/** One version of a workflow in the store. */
export interface StoredWorkflow extends WorkflowFacts {
  /** As it was written. */
  readonly text: string;
  readonly mediaType: WorkflowMediaType;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly createdBy: string;
  /** The role of its writer. The calls of its runs are made with it. */
  readonly writtenAs: WriterRole;
}

/** The roles that may write workflows. */
export type WriterRole = Extract<Role, 'admin' | 'engineering'>;

/** What a workflow calls, without its text. */
export type WorkflowCalls = Omit<WorkflowFacts, 'definition'>;

/** The newest version of a workflow, and the names of all, the newest first. */
export interface ListedWorkflow
  extends Pick<StoredWorkflow, 'id' | 'version' | 'title' | 'functions' | 'createdAt' | 'createdBy'> {
  readonly versions: readonly string[];
}

/** Which rows: all versions where `version` is absent. */
export interface WorkflowName {
  readonly id: string;
  readonly version?: string | undefined;
}

/** The workflow documents on this store, by id and version. A version that exists never changes. */
export interface WorkflowStore {
  /** Stores the workflow, unless it exists. Answers what the store has then. */
  add(workflow: StoredWorkflow): Promise<StoredWorkflow>;
  /** The newest version where none is named. */
  read(name: WorkflowName): Promise<StoredWorkflow | undefined>;
  /** What every version of a workflow calls, the newest first. */
  versions(id: string): Promise<readonly WorkflowCalls[]>;
  /** `covers`: leaves out every other id. */
  list(page: {
    readonly limit: number;
    readonly skip: number;
    readonly covers?: ((id: string) => boolean) | undefined;
  }): Promise<{
    readonly list: readonly ListedWorkflow[];
    readonly total: number;
  }>;
  /**
   * Deletes what `judge` does not refuse by throwing. `isNamed`: an automation names the workflow. No automation changes meanwhile.
   */
  remove(name: WorkflowName, judge: (found: readonly WorkflowCalls[], isNamed: boolean) => Promise<void>): Promise<void>;
}

/** Whether an automation names the workflow. */
type NamedByAutomation = (transaction: Transaction<Tables>, id: string) => Promise<boolean>;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

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
    await judge(await callsOf(transaction, name), await isNamed(transaction, name.id));
    const all = transaction.deleteFrom('workflow').where('id', '=', bytesOf(name.id));
    await (name.version === undefined ? all : all.where('version', '=', bytesOf(name.version))).execute();
  };
  return {
    async add(workflow) {
      await database.query
        .insertInto('workflow')
        .values(rowOf(workflow))
        .onConflict((conflict) => conflict.columns(['id', 'version']).doNothing())
        .execute();
      // Deleted in between: the answer is that it was stored.
      return (await readOne(database.query, workflow)) ?? workflow;
    },
    read: (name) => readOne(database.read, name),
    versions: (id) => callsOf(database.read, { id }),
    list: (page) => listWorkflows(database.read, page),
    remove: (name, judge) =>
      removals.run(() => database.exclusively('automation', (transaction) => removeWorkflow(transaction, name, judge)), {
        limit: removalWait,
        late: () => storeUnavailable('waited too long to delete'),
      }),
  };
}

async function readOne(read: Kysely<Tables>, name: WorkflowName): Promise<StoredWorkflow | undefined> {
  const row = await rowsOf(read, name).selectAll().limit(1).executeTakeFirst();
  return row && workflowOf(row);
}

async function callsOf(read: Kysely<Tables>, name: WorkflowName): Promise<readonly WorkflowCalls[]> {
  const rows = await rowsOf(read, name).select(listedColumns).execute();
  return rows.map(factsOf);
}

/** The newest first. Versions of one precedence differ in their build metadata, which orders them by its bytes. */
function rowsOf(read: Kysely<Tables>, { id, version }: WorkflowName) {
  const all = read.selectFrom('workflow').where('id', '=', bytesOf(id));
  const named = version === undefined ? all : all.where('version', '=', bytesOf(version));
  return named.orderBy('version_key', 'desc').orderBy('version', 'desc');
}

async function listWorkflows(
  read: Kysely<Tables>,
  { limit, skip, covers }: Parameters<WorkflowStore['list']>[0],
): ReturnType<WorkflowStore['list']> {
  const moment = await read.startTransaction().execute();
  try {
    const { ids, total } = await (covers === undefined
      ? allIds(moment, { limit, skip })
      : coveredIds(moment, { limit, skip, covers }));
    const rows = ids.length === 0 ? [] : await listedRows(moment, ids);
    const byId = Map.groupBy(rows, (row) => textOf(row.id));
    return { list: [...byId.values()].flatMap(listedOf), total };
  } finally {
    await moment.rollback().execute();
  }
}

interface FoundIds {
  readonly ids: readonly { readonly id: Uint8Array }[];
  readonly total: number;
}

async function allIds(
  moment: Kysely<Tables>,
  { limit, skip }: { readonly limit: number; readonly skip: number },
): Promise<FoundIds> {
  const { total } = await moment
    .selectFrom('workflow')
    .select(sql<number>`cast(count(distinct id) as bigint)`.as('total'))
    .executeTakeFirstOrThrow();
  const ids = await moment.selectFrom('workflow').select('id').groupBy('id').orderBy('id').limit(limit).offset(skip).execute();
  return { ids, total };
}

/** Reads every id: a store has few of them, and globs of rights are no patterns of a database. */
async function coveredIds(
  moment: Kysely<Tables>,
  { limit, skip, covers }: { readonly limit: number; readonly skip: number; readonly covers: (id: string) => boolean },
): Promise<FoundIds> {
  const all = await moment.selectFrom('workflow').select('id').groupBy('id').orderBy('id').execute();
  const covered = all.filter(({ id }) => covers(textOf(id)));
  return { ids: covered.slice(skip, skip + limit), total: covered.length };
}

const listedColumns = ['id', 'version', 'facts', 'created_at', 'created_by'] as const;

type ListedRow = Pick<Tables['workflow'], (typeof listedColumns)[number]>;

function listedRows(read: Kysely<Tables>, ids: readonly { readonly id: Uint8Array }[]): Promise<readonly ListedRow[]> {
  return read
    .selectFrom('workflow')
    .select(listedColumns)
    .where(
      'id',
      'in',
      ids.map(({ id }) => id),
    )
    .orderBy('id')
    .orderBy('version_key', 'desc')
    .orderBy('version', 'desc')
    .execute();
}

function listedOf(rows: readonly ListedRow[]): readonly ListedWorkflow[] {
  const [newest] = rows;
  if (newest === undefined) return [];
  const { workflows: _runs, calls: _calls, ...facts } = factsOf(newest);
  return [{ ...facts, ...stampOf(newest), versions: rows.map(({ version }) => textOf(version)) }];
}

function rowOf({ id, version, title, definition, functions, workflows, calls, writtenAs, ...workflow }: StoredWorkflow) {
  const { text, mediaType, createdAt, createdBy } = workflow;
  return {
    id: bytesOf(id),
    version: bytesOf(version),
    version_key: versionKey(version),
    document: bytesOf(text),
    media_type: mediaType,
    definition,
    facts: JSON.stringify({ title, functions, workflows, calls, writtenAs } satisfies StoredFacts),
    created_at: createdAt,
    created_by: createdBy,
  } satisfies Tables['workflow'];
}

function workflowOf(row: Tables['workflow']): StoredWorkflow {
  const { document, media_type: mediaType, definition, facts } = row;
  const calls = factsOf(row);
  // Rows of earlier versions do not say it. Only an admin could write a workflow with such calls.
  const { writtenAs = adminFunction(calls) === undefined ? 'engineering' : 'admin' } = JSON.parse(facts) as StoredFacts;
  return { ...calls, ...stampOf(row), definition, text: textOf(document), mediaType, writtenAs };
}

interface StoredFacts extends Pick<WorkflowFacts, 'functions' | 'workflows'> {
  readonly title?: string | undefined;
  readonly calls?: WorkflowFacts['calls'] | undefined;
  readonly writtenAs?: WriterRole;
}

function factsOf({ id, version, facts }: ListedRow): WorkflowCalls {
  const { title, functions, workflows, calls } = JSON.parse(facts) as StoredFacts;
  const known = { ...(title !== undefined && { title }), ...(calls !== undefined && { calls }) };
  return { id: textOf(id), version: textOf(version), functions, workflows, ...known };
}

function stampOf({ created_at: createdAt, created_by: createdBy }: ListedRow): Pick<StoredWorkflow, 'createdAt' | 'createdBy'> {
  return { createdAt, createdBy };
}
