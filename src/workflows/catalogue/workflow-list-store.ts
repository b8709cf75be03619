import { type Kysely, sql } from 'kysely';
import { defined } from '#base/text/defined.ts';
import { pageBytes } from '#base/visible-page.ts';
import type { Tables } from '#database/tables/tables.ts';
import { isPrerelease } from './version-key.ts';
import {
  readStorers,
  type StoredWorkflow,
  stampOf,
  storedText,
  type VersionRow,
  versionColumns,
  versionOf,
} from './workflow-row.ts';

/** The newest version, and the names of all, the newest first. */
interface ListedWorkflow extends Pick<StoredWorkflow, 'id' | 'version' | 'title' | 'functions' | 'createdAt' | 'createdBy'> {
  readonly versions: readonly string[];
}

export interface WorkflowPage {
  readonly limit: number;
  readonly skip: number;
  readonly covers?: ((id: string) => boolean) | undefined;
  /** Only versions that lend the rights of this principal (exact id or name). */
  readonly storer?: string | undefined;
  /** Only workflows whose id or title has this text; case does not count. */
  readonly contains?: string | undefined;
}

export interface ListedWorkflows {
  readonly list: readonly ListedWorkflow[];
  readonly total: number;
  /** The bytes of the page ended it before its limit. */
  readonly isCut: boolean;
}

/** The facts of a version may be long. */
const idsAtOnce = 32;

export async function listWorkflows(read: Kysely<Tables>, page: WorkflowPage): Promise<ListedWorkflows> {
  const { covers, storer, contains } = page;
  const isWhole = covers === undefined && storer === undefined && contains === undefined;
  const moment = await read.startTransaction().execute();
  try {
    const { ids, total } = await (isWhole ? allIds(moment, page) : coveredIds(moment, page));
    const list: ListedWorkflow[] = [];
    let bytes = 0;
    for (let start = 0; start < ids.length; start += idsAtOnce) {
      const found = await listedRows(moment, ids.slice(start, start + idsAtOnce));
      const rows = storer === undefined ? found : found.filter((row) => isLentBy(row, storer));
      for (const workflow of [...Map.groupBy(rows, (row) => storedText(row.id)).values()].flatMap(listedOf)) {
        bytes += Buffer.byteLength(JSON.stringify(workflow));
        if (list.length > 0 && bytes > pageBytes) return { list, total, isCut: true };
        list.push(workflow);
      }
    }
    return { list, total, isCut: false };
  } finally {
    await moment.rollback().execute();
  }
}

interface FoundIds {
  readonly ids: readonly { readonly id: Uint8Array }[];
  readonly total: number;
}

async function allIds(moment: Kysely<Tables>, { limit, skip }: WorkflowPage): Promise<FoundIds> {
  const { total } = await moment
    .selectFrom('workflow')
    .select(sql<number>`cast(count(distinct id) as bigint)`.as('total'))
    .executeTakeFirstOrThrow();
  const ids = await moment.selectFrom('workflow').select('id').groupBy('id').orderBy('id').limit(limit).offset(skip).execute();
  return { ids, total };
}

/** Globs of rights are no patterns of a database, and a store has few ids. */
async function coveredIds(moment: Kysely<Tables>, { limit, skip, covers, storer, contains }: WorkflowPage): Promise<FoundIds> {
  const lent = storer === undefined ? undefined : await idsLentBy(moment, storer);
  const all = await moment.selectFrom('workflow').select('id').groupBy('id').orderBy('id').execute();
  const covered = all.filter(({ id: bytes }) => {
    const id = storedText(bytes);
    return covers?.(id) !== false && lent?.has(id) !== false;
  });
  const found = contains === undefined ? covered : await idsWith(moment, covered, contains.toLowerCase());
  return { ids: found.slice(skip, skip + limit), total: found.length };
}

/** Of the ids, those with the text, in lower case, in the id or in the title of the version that is listed. */
async function idsWith(moment: Kysely<Tables>, ids: FoundIds['ids'], wanted: string): Promise<FoundIds['ids']> {
  const has = (text: string): boolean => text.toLowerCase().includes(wanted);
  const others = ids.filter(({ id }) => !has(storedText(id)));
  const titled = new Set<string>();
  for (let start = 0; start < others.length; start += idsAtOnce) {
    const rows = await listedRows(moment, others.slice(start, start + idsAtOnce));
    const listed = [...Map.groupBy(rows, (row) => storedText(row.id)).values()].flatMap(listedOf);
    for (const { id, title } of listed) if (title !== undefined && has(title)) titled.add(id);
  }
  return ids.filter(({ id }) => titled.has(storedText(id)) || has(storedText(id)));
}

async function idsLentBy(moment: Kysely<Tables>, storer: string): Promise<ReadonlySet<string>> {
  const rows = await moment.selectFrom('workflow').select(['id', 'storers']).execute();
  return new Set(rows.filter((row) => isLentBy(row, storer)).map(({ id }) => storedText(id)));
}

function isLentBy({ storers }: Pick<VersionRow, 'storers'>, storer: string): boolean {
  return readStorers(storers).some(({ id, username, lends }) => lends && (id === storer || username === storer));
}

function listedRows(read: Kysely<Tables>, ids: FoundIds['ids']): Promise<readonly VersionRow[]> {
  return read
    .selectFrom('workflow')
    .select(versionColumns)
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

function listedOf(rows: readonly VersionRow[]): readonly ListedWorkflow[] {
  const newest = rows.find(({ version }) => !isPrerelease(storedText(version))) ?? rows[0];
  if (newest === undefined) return [];
  const { id, version, title, functions } = versionOf(newest);
  const versions = rows.map((row) => storedText(row.version));
  return [defined({ id, version, functions, title, ...stampOf(newest), versions })];
}
