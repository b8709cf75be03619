import { setImmediate } from 'node:timers/promises';
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { matches } from './automation-filter-store.ts';
import { automationOf, documentColumns, documentText, keyColumns } from './automation-row.ts';
import { type Viewer, visibleTo } from './automation-visibility-store.ts';
import type { ListOptions } from './list-options.ts';

export interface AutomationPage {
  /** JSON texts. */
  readonly list: readonly string[];
  /** How many documents the viewer may see and the filters match, before paging. */
  readonly total: number;
}

interface ListRequest {
  readonly options: ListOptions;
  readonly viewer: Viewer;
}

/** One page and its total, both of one moment. */
export function listAutomations(
  { read, dialect }: Database,
  { options, viewer }: ListRequest,
  sortedAtMost: number,
): Promise<AutomationPage> {
  return read.transaction().execute(async (moment) => {
    // PostgreSQL would compile a query that it estimates as long; that takes longer than the query may.
    if (dialect === 'postgres') await sql`set local jit = off`.execute(moment);
    const condition = all([visibleTo(viewer), ...options.filters.map((filter) => matches(filter, dialect))]);
    const { rows } = await sql<Count>`select count(*) as total from automation where ${condition}`.execute(moment);
    const total = rows[0]?.total ?? 0;
    const numbers = await numbersOf(moment, { options, condition, total, sortedAtMost });
    return { list: await documentsOf(moment, numbers), total };
  });
}

interface Count {
  readonly total: number;
}

function all(conditions: readonly (RawBuilder<SqlBool> | undefined)[]): RawBuilder<SqlBool> {
  const given = conditions.filter((condition) => condition !== undefined);
  return given.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(given, sql` and `)}`;
}

interface Search {
  readonly options: ListOptions;
  readonly condition: RawBuilder<SqlBool>;
  readonly total: number;
  readonly sortedAtMost: number;
}

/** The automations of the page, read from its nearer end. */
async function numbersOf(moment: Kysely<Tables>, search: Search): Promise<readonly number[]> {
  const { options, condition, total, sortedAtMost } = search;
  const { limit, skip, sort, order, filters } = options;
  const count = Math.max(0, Math.min(limit, total - skip));
  if (count === 0) return [];
  const fromBehind = skip > total / 2;
  const columns = await orderColumns(moment, sort);
  const by = orderBy(columns, (order === 1) !== fromBehind);
  // Few matches are found first and sorted then. Many are near to each other in the index of the sort field.
  const found =
    filters.length > 0 && total <= sortedAtMost
      ? sql`with found as materialized (select number, ${sql.join(columns.map((column) => sql.ref(column)))} from automation
          where ${condition}) select number from found`
      : sql`select number from automation where ${condition}`;
  const { rows } = await sql<Pick<Tables['automation'], 'number'>>`${found} order by ${by}
    limit ${count} offset ${fromBehind ? total - skip - count : skip}`.execute(moment);
  const numbers = rows.map(({ number }) => number);
  return fromBehind ? numbers.toReversed() : numbers;
}

/** A document without the field comes first, then by name, which every document has. */
async function orderColumns(moment: Kysely<Tables>, sort: ListOptions['sort']): Promise<readonly (keyof Tables['automation'])[]> {
  if (sort === 'name') return ['name_key', 'name'];
  // The index has the beginnings of descriptions. One that is not longer comes before those that are, with null.
  const isCut =
    sort === 'data.description' &&
    (await moment.selectFrom('automation').select('number').where('description_key', 'is not', null).limit(1).execute()).length >
      0;
  return [keyColumns[sort], ...(isCut ? (['description_key'] as const) : []), 'name_key', 'name'];
}

function orderBy(columns: readonly string[], isAscending: boolean): RawBuilder<unknown> {
  const direction = sql.raw(isAscending ? 'asc nulls first' : 'desc nulls last');
  return sql.join(columns.map((column) => sql`${sql.ref(column)} ${direction}`));
}

/** Documents fetched in one statement: 32 of 1 MiB are as much as a page may have. */
const fetchedAtOnce = 32;
/** Characters of all documents of a page; each has 1 MiB at most. */
const pageLimit = 32 * 1024 * 1024;

async function documentsOf(moment: Kysely<Tables>, numbers: readonly number[]): Promise<readonly string[]> {
  const documents: string[] = [];
  let length = 0;
  for (let start = 0; start < numbers.length; start += fetchedAtOnce) {
    const wanted = numbers.slice(start, start + fetchedAtOnce);
    const rows = await documentRows(moment).select('automation.number').where('automation.number', 'in', wanted).execute();
    const byNumber = new Map(rows.map((row) => [row.number, row]));
    for (const number of wanted) {
      const row = byNumber.get(number);
      if (row === undefined) throw new Error('An automation of the page has no document.');
      length += row.document.length;
      if (length > pageLimit) throw pageTooLarge(documents.length);
      documents.push(documentText(automationOf(row)));
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
