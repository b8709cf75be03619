import { setImmediate } from 'node:timers/promises';
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import { pageBytes } from '#base/visible-page.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ListOptions, PersonFilter, TextFilter } from '../list-options.ts';
import { automationOf, documentColumns, documentText, keyColumns } from './automation-row.ts';
import { exactKey, keyBehind, sortKey } from './sort-key.ts';

export interface Viewer {
  readonly seesAll: boolean;
  readonly groups: readonly string[];
  /** Globs of workflow ids: only automations that name such a workflow, perhaps with ids that differ in case. */
  readonly workflows?: readonly string[];
}

/** Undefined: the viewer sees all. */
export function visibleTo({ seesAll, groups }: Viewer): RawBuilder<SqlBool> | undefined {
  if (seesAll) return undefined;
  if (groups.length === 0) return sql<SqlBool>`automation.restricted = 0`;
  return sql<SqlBool>`(automation.restricted = 0 or automation.number in (
    select number from automation_group where group_name in (${sql.join(groups.map(exactKey))})))`;
}

export interface ListRequest {
  readonly options: ListOptions;
  readonly viewer: Viewer;
}

/**
 * One page and its total, both of one moment. A condition on one field reads its index alone; several read the table, which has
 * no documents. A search takes one pass for its total, which answers the numbers of few matches too; many take a second pass.
 * `list`: JSON texts; `isCut`: the page ends early because of its bytes.
 */
export function listAutomations({ read, dialect }: Database, { options, viewer }: ListRequest, maxSorted: number) {
  return read.transaction().execute(async (moment) => {
    // PostgreSQL would compile a query that it estimates as long, for longer than the query takes.
    if (dialect === 'postgres') await sql`set local jit = off`.execute(moment);
    const { filters, sort } = options;
    const describes = sort === 'data.description' || filters.some(({ field }) => field === 'data.description');
    const isCut = describes && (await hasCutDescription(moment));
    const matching = conditionOf({ options, viewer }, { dialect, isCut });
    // SQLite would fetch each row of a range of one index.
    const hint = dialect === 'sqlite' && filters.length > 1 ? sql`not indexed` : sql``;
    const searched = sql`from automation ${hint} where`;
    const few = sql`case when count(*) <= ${maxSorted} then ${sql.raw(numberList[dialect])} end as few`;
    const { rows } = await sql<Matches>`select count(*) as total, (select max(number) from automation) as last, ${few}
      ${searched} ${matching}`.execute(moment);
    const isFiltered = filters.length > 0 || options.people !== undefined;
    const matches = rows[0] ?? { total: 0, last: null, few: null };
    const condition = isFiltered ? foundAgain({ ...matches, searched, matching }) : matching;
    const numbers = await numbersOf(moment, { options, condition, total: matches.total, isCut });
    const list = await documentsOf(moment, numbers);
    return { list, total: matches.total, isCut: list.length < numbers.length };
  });
}

function conditionOf({ options: { filters, people = [] }, viewer }: ListRequest, matching: Matching): RawBuilder<SqlBool> {
  const conditions = [
    visibleTo(viewer),
    viewer.workflows && namesCovered(viewer.workflows, matching),
    ...filters.map((filter) => matches(filter, matching)),
    ...people.map(hasPerson),
  ].filter((condition) => condition !== undefined);
  return conditions.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(conditions, sql` and `)}`;
}

interface Matches {
  readonly total: number;
  /** The greatest number; null: no automation. */
  readonly last: number | null;
  /** With commas; null: too many or none. */
  readonly few: string | null;
}

const numberList = { sqlite: `group_concat(number)`, postgres: `string_agg(number::text, ',')` } as const;

/**
 * The condition of the page. Few matches are fetched by number and sorted. For many, the index of the sort field is read in its
 * order. Each row is looked up in the set of matches, or of the others where these are fewer.
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

async function hasCutDescription(moment: Kysely<Tables>): Promise<boolean> {
  const cut = moment.selectFrom('automation').select('number').where('description_key', 'is not', null).limit(1);
  return (await cut.execute()).length > 0;
}

interface PageRequest {
  readonly options: ListOptions;
  readonly condition: RawBuilder<SqlBool>;
  readonly total: number;
  readonly isCut: boolean;
}

/** Reads from the nearer end. */
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

/** As the indexes: a document without the field comes first, then by name, which every document has. */
function orderBy(
  sort: ListOptions['sort'],
  { isAscending, isCut }: { readonly isAscending: boolean; readonly isCut: boolean },
): RawBuilder<unknown> {
  const direction = sql.raw(isAscending ? 'asc' : 'desc');
  const nulls = sql.raw(isAscending ? 'nulls first' : 'nulls last');
  const nullable = [
    ...(sort === 'name' ? [] : [keyColumns[sort]]),
    // The index has the beginnings of descriptions: a null here comes before those that are longer.
    ...(sort === 'data.description' && isCut ? (['description_key'] as const) : []),
  ];
  return sql.join([
    ...nullable.map((column) => sql`${sql.ref(column)} ${direction} ${nulls}`),
    ...['name_key', 'name'].map((column) => sql`${sql.ref(column)} ${direction}`),
  ]);
}

/** In one statement; each has 1 MiB at most. */
const fetchedAtOnce = 8;

/** As many as one page may have. */
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

export function documentRows(read: Kysely<Tables>) {
  return read
    .selectFrom('automation')
    .innerJoin('automation_text', 'automation_text.number', 'automation.number')
    .select(documentColumns);
}

interface Matching {
  readonly dialect: Database['dialect'];
  /** A description is longer than what its index has of it, so the index does not serve. */
  readonly isCut: boolean;
}

/** A document without the field matches no filter on it. */
function matches({ kind, field, text }: TextFilter, { dialect, isCut }: Matching): RawBuilder<SqlBool> {
  const column =
    field === 'data.description' && isCut ? sql`coalesce(description_key, description_start)` : sql.ref(keyColumns[field]);
  const key = sortKey(text);
  if (kind === 'equals') return sql<SqlBool>`${column} = ${key}`;
  if (kind === 'startsWith') {
    const behind = keyBehind(key);
    const from = sql<SqlBool>`${column} >= ${key}`;
    return behind === undefined ? from : sql<SqlBool>`${from} and ${column} < ${behind}`;
  }
  // In UTF-8 no character has the bytes of another one inside, so a search by bytes finds characters.
  return dialect === 'postgres'
    ? sql<SqlBool>`position(${key}::bytea in ${column}) > 0`
    : sql<SqlBool>`instr(${column}, ${key}) > 0`;
}

function hasPerson({ kind, person }: PersonFilter): RawBuilder<SqlBool> {
  return sql<SqlBool>`automation.number in (select number from automation_person where kind = ${kind} and name = ${exactKey(person)})`;
}

/** In any case of letters. */
function namesCovered(globs: readonly string[], { dialect }: Pick<Matching, 'dialect'>): RawBuilder<SqlBool> {
  if (globs.length === 0) return sql<SqlBool>`1 = 0`;
  const column = sql.ref(keyColumns['data.workflowId']);
  // Letters, digits, `.`, `-` and `*` alone (access.roles): nothing else in them has a meaning here.
  const conditions = globs.map((glob) =>
    dialect === 'postgres'
      ? sql<SqlBool>`${column} like ${exactKey(glob.toLowerCase().replaceAll('*', '%'))}`
      : sql<SqlBool>`cast(${column} as text) glob ${glob.toLowerCase()}`,
  );
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}
