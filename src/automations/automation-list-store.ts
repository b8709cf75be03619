import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type Viewer, visibleTo } from './automation-audience-store.ts';
import { placed, rankOf, seek } from './automation-block-store.ts';
import { matches, type NameRange, nameRangeOf, namesCovered } from './automation-filter-store.ts';
import { type Portion, portionsFor } from './automation-portion-store.ts';
import { ownerFactColumns } from './automation-row.ts';
import type { ListOptions } from './list-options.ts';
import { hasNotes, hex, textsOf } from './run-fact-store.ts';

export interface AutomationPage {
  /** JSON texts, as the catalogue keeps them. */
  readonly list: readonly string[];
  /** How many documents the viewer may see and the filters match, before paging. */
  readonly total: number;
}

interface ListRequest {
  readonly options: ListOptions;
  readonly viewer: Viewer;
}

/**
 * One page and its total, both of one moment. What depends on the alphabetical order alone comes from the counts of the blocks, for any size
 * of the catalogue. Other listings read one index, from the nearer end. Only the documents of the page are fetched.
 */
export function listAutomations(
  { read, dialect }: Database,
  request: ListRequest,
  collectedAtMost: number,
): Promise<AutomationPage> {
  return read.transaction().execute(async (moment) => {
    // Reads the notes of runs first (run-fact-store.ts).
    const isNoted = await hasNotes(moment);
    const { total, names } = await findPage({ moment, dialect, isNoted, collectedAtMost }, request);
    return { list: await documentsOf({ moment, isNoted }, names), total };
  });
}

interface Found {
  readonly total: number;
  /** Exact names, in the order of the page: they are unique, and every index has them. */
  readonly names: readonly Uint8Array[];
}

interface Moment {
  readonly moment: Kysely<Tables>;
  readonly dialect: Database['dialect'];
  /** Whether any run noted a fact. */
  readonly isNoted: boolean;
  readonly collectedAtMost: number;
}

async function findPage({ moment, dialect, isNoted, collectedAtMost }: Moment, { options, viewer }: ListRequest): Promise<Found> {
  const { filters, sort } = options;
  const portions = await portionsFor(moment, { fields: [sort, ...filters.map(({ field }) => field)], isNoted });
  const visible = visibleTo(viewer);
  const parts = portions.map(({ from, columnOf, condition }) => ({
    from,
    columnOf,
    conditions: [
      ...(visible === undefined ? [] : [visible]),
      ...(viewer.workflows === undefined ? [] : [namesCovered(viewer.workflows, { columnOf, dialect })]),
      ...filters.map((filter) => matches(filter, { columnOf, dialect })),
      ...(condition === undefined ? [] : [condition]),
    ],
  }));
  const search: Search = { moment, options, parts, collectedAtMost };
  const ranges = filters.map(nameRangeOf).filter((range) => range !== undefined);
  if (ranges.length < filters.length || viewer.workflows !== undefined) {
    // PostgreSQL would compile a query that it estimates as long; that takes longer than such a search may.
    if (dialect === 'postgres') await sql`set local jit = off`.execute(moment);
    return findBySearching(search);
  }
  const [before, behind] = await ranksOf(moment, viewer, ranges);
  const total = Math.max(0, behind - before);
  const page = slice(options, total);
  if (page.count === 0) return { total, names: [] };
  if (sort !== 'name') return { total, names: await orderedNames(search, total) };
  return {
    total,
    names: await alphabeticalNames({ moment, viewer, options, first: before + page.ascending, count: page.count }),
  };
}

/** The ranks of the start and the end of what all ranges have in common, in documents that the viewer sees. */
async function ranksOf(moment: Kysely<Tables>, viewer: Viewer, ranges: readonly NameRange[]): Promise<readonly [number, number]> {
  const rank = (place: NameRange['to']): Promise<number> => rankOf(moment, { viewer, place });
  let [before, behind] = [0, ranges.length === 0 ? await rank(undefined) : Number.POSITIVE_INFINITY];
  for (const { from, to } of ranges) {
    before = Math.max(before, await rank(from));
    behind = Math.min(behind, await rank(to));
  }
  return [before, behind];
}

interface Slice {
  readonly count: number;
  /** Where the page starts, in ascending order. */
  readonly ascending: number;
}

function slice({ limit, skip, order }: ListOptions, total: number): Slice {
  const count = Math.max(0, Math.min(limit, total - skip));
  return { count, ascending: order === 1 ? skip : total - skip - count };
}

async function alphabeticalNames(page: {
  readonly moment: Kysely<Tables>;
  readonly viewer: Viewer;
  readonly options: ListOptions;
  /** From 0, of what the viewer sees. */
  readonly first: number;
  readonly count: number;
}): Promise<readonly Uint8Array[]> {
  const { moment, viewer, options, first, count } = page;
  const { start, before } = await seek(moment, { viewer, position: first });
  const { rows } = await sql<NameRow>`select name from automation
    where ${placed('>=', start)} and ${visibleTo(viewer) ?? sql`1 = 1`}
    order by name_key, name limit ${count} offset ${first - before}`.execute(moment);
  const names = rows.map(({ name }) => name);
  return options.order === 1 ? names : names.toReversed();
}

interface NameRow {
  readonly name: Uint8Array;
}

interface Search {
  readonly moment: Kysely<Tables>;
  readonly options: ListOptions;
  /** What the search reads: parts of `automation` without a common row (`portionsFor`). */
  readonly parts: readonly SearchPart[];
  readonly collectedAtMost: number;
}

interface SearchPart extends Omit<Portion, 'condition'> {
  readonly conditions: readonly RawBuilder<SqlBool>[];
}

async function findBySearching(search: Search): Promise<Found> {
  const { moment, options, parts, collectedAtMost } = search;
  if (options.limit > 0) {
    const found = await collect(search);
    if (found.total <= collectedAtMost) return found;
  }
  let total = 0;
  for (const { from, conditions } of parts) {
    const { rows } = await sql<{ total: number }>`select count(*) as total from ${from} where ${all(conditions)}`.execute(moment);
    total += rows[0]?.total ?? 0;
  }
  return { total, names: slice(options, total).count === 0 ? [] : await orderedNames(search, total) };
}

/** Reads the index of a filter once, for any order of the page. It counts up to `collectedAtMost` + 1. */
async function collect({ moment, options, parts, collectedAtMost }: Search): Promise<Found> {
  const { sort, order, limit, skip } = options;
  // The sort key comes from the row of the document only where the index that is read does not have it.
  const isHeld = parts.length > 1 || sort === 'name' || options.filters.some(({ field }) => field === sort);
  const isAscending = order === 1;
  const found = parts.map(
    ({ from, conditions, columnOf }) => sql`select name_key, name ${isHeld ? sql`, ${columnOf(sort)} as sort_key` : sql``}
      from ${from} where ${all(conditions)}`,
  );
  const keys = isHeld ? [sql`sort_key`] : parts.map(({ columnOf }) => columnOf(sort));
  const { rows } = await sql<{ total: number; name: Uint8Array | null }>`
    with found as materialized (${sql.join(found, sql` union all `)} limit ${collectedAtMost + 1}), page as (
      select found.name, row_number() over (
        order by ${orderBy(keys, 'found', isAscending)}
      ) as number from found ${isHeld ? sql`` : sql`cross join automation where automation.name = found.name`}
    )
    select counted.total, page.name from (select count(*) as total from found) as counted
    left join page on page.number > ${skip} and page.number <= ${skip + limit} order by page.number`.execute(moment);
  return { total: rows[0]?.total ?? 0, names: rows.flatMap(({ name }) => name ?? []) };
}

/** Reads the index of the sort field from the end that is nearer to the page. */
async function orderedNames(search: Search, total: number): Promise<readonly Uint8Array[]> {
  const { moment, options } = search;
  const { order, skip } = options;
  const { count } = slice(options, total);
  const fromBehind = skip > total / 2;
  const ascending = (order === 1) !== fromBehind;
  const offset = fromBehind ? total - skip - count : skip;
  const { rows } = await sql<NameRow>`${inOrder(search, { ascending, atMost: count + offset })}
    limit ${count} offset ${offset}`.execute(moment);
  const names = rows.map(({ name }) => name);
  return fromBehind ? names.toReversed() : names;
}

/** A select of the names in order, to which a limit can be added. Of several parts it merges the first `atMost` of each. */
function inOrder(
  { options: { sort }, parts }: Search,
  { ascending, atMost }: { readonly ascending: boolean; readonly atMost: number },
): RawBuilder<unknown> {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) {
    const by = orderBy(sort === 'name' ? [] : [only.columnOf(sort)], 'automation', ascending);
    return sql`select name from ${only.from} where ${all(only.conditions)} order by ${by}`;
  }
  const merged = parts.map(({ from, conditions, columnOf }, index) => {
    const by = orderBy([sql`sort_key`], 'automation', ascending);
    return sql`select * from (select ${columnOf(sort)} as sort_key, name_key, name from ${from} where ${all(conditions)}
      order by ${by} limit ${atMost}) as ${sql.ref(`part_${index}`)}`;
  });
  return sql`select name from (${sql.join(merged, sql` union all `)}) as merged
    order by ${orderBy([sql`sort_key`], 'merged', ascending)}`;
}

/** The order of the indexes: a document without the field first, then by name, which every document has. */
function orderBy(keys: readonly RawBuilder<unknown>[], table: string, isAscending: boolean): RawBuilder<unknown> {
  const names = ['name_key', 'name'].map(
    (column) => sql`${sql.ref(`${table}.${column}`)} ${sql.raw(isAscending ? 'asc' : 'desc')}`,
  );
  return sql.join([...keys.map((key) => sql`${key} ${sql.raw(isAscending ? 'asc nulls first' : 'desc nulls last')}`), ...names]);
}

function all(conditions: readonly RawBuilder<SqlBool>[]): RawBuilder<SqlBool> {
  return conditions.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join([...conditions], sql` and `)}`;
}

/** Documents fetched in one statement: 32 of 1 MiB are as much as a page may have. */
const fetchedAtOnce = 32;
/** Characters of all documents of a page; each has 1 MiB at most. */
const pageLimit = 32 * 1024 * 1024;

async function documentsOf(
  { moment, isNoted }: Pick<Moment, 'moment' | 'isNoted'>,
  names: readonly Uint8Array[],
): Promise<readonly string[]> {
  const documents: string[] = [];
  let length = 0;
  for (let start = 0; start < names.length; start += fetchedAtOnce) {
    const wanted = names.slice(start, start + fetchedAtOnce);
    const rows = await moment
      .selectFrom('automation')
      .select(['id', 'name', 'document', ...ownerFactColumns])
      .where('name', 'in', wanted)
      .execute();
    const texts = await textsOf(moment, { rows, isNoted });
    const byName = new Map(rows.map(({ name }, index) => [hex(name), texts[index] ?? '']));
    for (const name of wanted) {
      const document = byName.get(hex(name)) ?? '';
      length += document.length;
      if (length > pageLimit) throw pageTooLarge(documents.length);
      documents.push(document);
    }
  }
  return documents;
}

function pageTooLarge(fitting: number): GatewayError {
  return new GatewayError(
    'invalid-request',
    `The documents of this page are very large: ask for a limit of ${fitting} or less.`,
    {
      errors: [
        {
          pointer: '?limit',
          detail: `must be ${fitting} or less here: the documents of the page are over ${pageLimit} characters`,
        },
      ],
    },
  );
}
