import { setImmediate } from 'node:timers/promises';
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import { pageBytes } from '#base/visible-page.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { hasPerson, matches, namesCovered } from './automation-filter-store.ts';
import { automationOf, documentColumns, documentText, keyColumns } from './automation-row.ts';
import { type Viewer, visibleTo } from './automation-visibility-store.ts';
import type { ListOptions } from './list-options.ts';

export interface AutomationPage {
  /** JSON texts. */
  readonly list: readonly string[];
  /** How many documents the viewer may see and the filters match, before paging. */
  readonly total: number;
  /** The page is shorter than its limit because of its bytes. */
  readonly isCut: boolean;
}

interface ListRequest {
  readonly options: ListOptions;
  readonly viewer: Viewer;
}

/**
 * One page and its total, both of one moment. A condition on one field reads its index alone, and conditions on several read the table, which
 * has no documents. A search takes one pass for its total. The pass also answers the numbers of few matches; many take a second pass.
 */
export function listAutomations(
  { read, dialect }: Database,
  { options, viewer }: ListRequest,
  sortedAtMost: number,
): Promise<AutomationPage> {
  return read.transaction().execute(async (moment) => {
    // PostgreSQL would compile a query that it estimates as long; that takes longer than the query may.
    if (dialect === 'postgres') await sql`set local jit = off`.execute(moment);
    const { filters, sort } = options;
    const describes = sort === 'data.description' || filters.some(({ field }) => field === 'data.description');
    const isCut = describes && (await hasCutDescription(moment));
    const conditions = conditionsOf({ options, viewer }, { dialect, isCut });
    // SQLite would fetch each row of a range of one index.
    const hint = dialect === 'sqlite' && filters.length > 1 ? sql`not indexed` : sql``;
    const matching = all(conditions);
    const searched = sql`from automation ${hint} where`;
    const few = sql`case when count(*) <= ${sortedAtMost} then ${sql.raw(numberList[dialect])} end as few`;
    const { rows } = await sql<Matches>`select count(*) as total, (select max(number) from automation) as last, ${few}
      ${searched} ${matching}`.execute(moment);
    const matches = rows[0] ?? { total: 0, last: null, few: null };
    const condition = isFiltered(options) ? foundAgain({ ...matches, searched, matching }) : matching;
    const numbers = await numbersOf(moment, { options, condition, total: matches.total, isCut });
    const list = await documentsOf(moment, numbers);
    return { list, total: matches.total, isCut: list.length < numbers.length };
  });
}

function conditionsOf(
  { options: { filters, people = [] }, viewer }: ListRequest,
  matching: Parameters<typeof matches>[1],
): readonly (RawBuilder<SqlBool> | undefined)[] {
  const covered = viewer.workflows && namesCovered(viewer.workflows, matching);
  return [visibleTo(viewer), covered, ...filters.map((filter) => matches(filter, matching)), ...people.map(hasPerson)];
}

function isFiltered({ filters, people }: ListOptions): boolean {
  return filters.length > 0 || people !== undefined;
}

interface Matches {
  readonly total: number;
  /** The greatest number of an automation; null where there is none. */
  readonly last: number | null;
  /** The numbers of all matches with commas between them; null where there are too many or none. */
  readonly few: string | null;
}

const numberList = { sqlite: `group_concat(number)`, postgres: `string_agg(number::text, ',')` } as const;

/**
 * The condition again, for the page. Few matches are fetched by their numbers and sorted. For many, the index of the sort field is read in
 * its order, and each row is looked up in a set. The set has the rows that match, or the others where these are fewer.
 */
function foundAgain({
  total,
  last,
  few,
  searched,
  matching,
}: Matches & Record<'searched' | 'matching', RawBuilder<unknown>>): RawBuilder<SqlBool> {
  if (few !== null) return sql`automation.number in (${sql.raw(few)})`;
  return total > (last ?? 0) / 2
    ? sql`(automation.number in (select number ${searched} (${matching}) is not true)) is not true`
    : sql`(automation.number in (select number ${searched} ${matching})) is true`;
}

/** Whether a description is longer than what its index has of it. */
async function hasCutDescription(moment: Kysely<Tables>): Promise<boolean> {
  const cut = moment.selectFrom('automation').select('number').where('description_key', 'is not', null).limit(1);
  return (await cut.execute()).length > 0;
}

function all(conditions: readonly (RawBuilder<SqlBool> | undefined)[]): RawBuilder<SqlBool> {
  const given = conditions.filter((condition) => condition !== undefined);
  return given.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(given, sql` and `)}`;
}

interface PageRequest {
  readonly options: ListOptions;
  readonly condition: RawBuilder<SqlBool>;
  readonly total: number;
  readonly isCut: boolean;
}

/** The automations of the page, read from its nearer end. */
async function numbersOf(moment: Kysely<Tables>, { options, condition, total, isCut }: PageRequest): Promise<readonly number[]> {
  const { limit, skip, sort, order } = options;
  const count = Math.max(0, Math.min(limit, total - skip));
  if (count === 0) return [];
  const fromBehind = skip > total / 2;
  const by = orderBy(sort, { isAscending: (order === 1) !== fromBehind, isCut });
  const { rows } = await sql<Pick<Tables['automation'], 'number'>>`select number from automation where ${condition}
    order by ${by} limit ${count} offset ${fromBehind ? total - skip - count : skip}`.execute(moment);
  const numbers = rows.map(({ number }) => number);
  return fromBehind ? numbers.toReversed() : numbers;
}

/** The order of the indexes: a document without the field comes first, then by name, which every document has. */
function orderBy(
  sort: ListOptions['sort'],
  { isAscending, isCut }: { readonly isAscending: boolean; readonly isCut: boolean },
): RawBuilder<unknown> {
  const direction = sql.raw(isAscending ? 'asc' : 'desc');
  const nulls = sql.raw(isAscending ? 'nulls first' : 'nulls last');
  const nullable = [
    ...(sort === 'name' ? [] : [keyColumns[sort]]),
    // The index has the beginnings of descriptions. One that is not longer, and has null here, comes before those that are.
    ...(sort === 'data.description' && isCut ? (['description_key'] as const) : []),
  ];
  return sql.join([
    ...nullable.map((column) => sql`${sql.ref(column)} ${direction} ${nulls}`),
    ...['name_key', 'name'].map((column) => sql`${sql.ref(column)} ${direction}`),
  ]);
}

/** Documents fetched in one statement. Each has 1 MiB at most. */
const fetchedAtOnce = 8;

/** As many of the documents, from the first on, as one page may have. */
async function documentsOf(moment: Kysely<Tables>, numbers: readonly number[]): Promise<readonly string[]> {
  const documents: string[] = [];
  let bytes = 0;
  for (let start = 0; start < numbers.length; start += fetchedAtOnce) {
    const wanted = numbers.slice(start, start + fetchedAtOnce);
    const rows = await documentRows(moment).select('automation.number').where('automation.number', 'in', wanted).execute();
    const byNumber = new Map(rows.map((row) => [row.number, row]));
    for (const number of wanted) {
      const row = byNumber.get(number);
      if (row === undefined) throw new Error('An automation of the page has no document.');
      const text = documentText(automationOf(row));
      bytes += Buffer.byteLength(text);
      if (documents.length > 0 && bytes > pageBytes) return documents;
      documents.push(text);
    }
    await setImmediate();
  }
  return documents;
}

/** What `automationOf` takes. */
export function documentRows(read: Kysely<Tables>) {
  return read
    .selectFrom('automation')
    .innerJoin('automation_text', 'automation_text.number', 'automation.number')
    .select(documentColumns);
}
