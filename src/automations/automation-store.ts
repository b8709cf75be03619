import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type Automation, readersOf, type TextField, textFields, textOf } from './automation.ts';
import type { ListOptions, TextFilter } from './list-options.ts';
import { exactKey, keyBehind, sortKey } from './sort-key.ts';

/** For whom a listing is made. */
export interface Viewer {
  /** Group lists do not bind it. */
  readonly seesAll: boolean;
  readonly groups: readonly string[];
}

export interface AutomationPage {
  readonly list: readonly Automation[];
  /** What the viewer may see and the filters match, before paging. */
  readonly total: number;
}

/**
 * The automations on this store. Texts that are compared are kept as UTF-8 bytes (sort-key.ts); the order of a listing is the
 * sort field's key, documents without the field first, then name key, exact name and `_id`: total, and -1 its exact reverse.
 */
export interface AutomationStore {
  /** The page and the total are two statements: writes between them can make them differ. */
  list(request: { readonly options: ListOptions; readonly viewer: Viewer }): Promise<AutomationPage>;
  /** Rejects with `StatementRefused` (unique) where the `_id` is taken. */
  insert(automation: Automation): Promise<void>;
}

const keyColumns = {
  _id: 'id_key',
  name: 'name_key',
  lastModifiedBy: 'last_modified_by_key',
  lastRunAt: 'last_run_at_key',
  nextRunAt: 'next_run_at_key',
  repeatInterval: 'repeat_interval_key',
  'data.description': 'description_key',
  'data.workflowId': 'workflow_id_key',
  'data.formId': 'form_id_key',
  'data.lastUpdated': 'last_updated_key',
} as const satisfies Record<TextField, keyof Tables['automation']>;

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const groupsAtOnce = 500;

export function createAutomationStore({ query, dialect }: Database): AutomationStore {
  const matching = ({ options, viewer }: { readonly options: ListOptions; readonly viewer: Viewer }) =>
    query
      .selectFrom('automation')
      .where((expression) =>
        expression.and([
          ...(viewer.seesAll ? [] : [visibleTo(expression, viewer.groups)]),
          ...options.filters.map((filter) => matches(expression, filter, dialect)),
        ]),
      );
  return {
    async list(request) {
      const { limit, skip, sort, order } = request.options;
      const counted = matching(request).select((expression) => expression.fn.countAll<number>().as('total'));
      if (limit === 0) return { list: [], total: (await counted.executeTakeFirstOrThrow()).total };
      let page = matching(request).select('document');
      for (const column of orderColumns(sort)) {
        // SQLite takes null as the smallest value, PostgreSQL as the largest: say it, so that both put it first.
        page = page.orderBy(column, (by) => (order === 1 ? by.asc().nullsFirst() : by.desc().nullsLast()));
      }
      const [{ total }, rows] = await Promise.all([counted.executeTakeFirstOrThrow(), page.limit(limit).offset(skip).execute()]);
      return { list: rows.map(({ document }) => JSON.parse(document) as Automation), total };
    },

    insert: (automation) =>
      query.transaction().execute(async (transaction) => {
        const id = exactKey(automation._id);
        const groups = readersOf(automation);
        await transaction
          .insertInto('automation')
          .values({
            id,
            name: exactKey(automation.name),
            restricted: groups === undefined ? 0 : 1,
            document: JSON.stringify(automation),
            ...keysOf(automation),
          })
          .execute();
        const rows = [...(groups ?? [])].map((group) => ({ group_name: exactKey(group), automation_id: id }));
        for (let start = 0; start < rows.length; start += groupsAtOnce) {
          await transaction
            .insertInto('automation_group')
            .values(rows.slice(start, start + groupsAtOnce))
            .execute();
        }
      }),
  };
}

type KeyColumns = Pick<Tables['automation'], (typeof keyColumns)[TextField]>;

function keysOf(automation: Automation): KeyColumns {
  const keys = textFields.map((field) => {
    const text = textOf(automation, field);
    return [keyColumns[field], text === undefined ? null : sortKey(text)] as const;
  });
  return Object.fromEntries(keys) as unknown as KeyColumns;
}

function orderColumns(sort: TextField) {
  const alphabetical = ['name_key', 'name', 'id'] as const;
  return sort === 'name' ? alphabetical : [keyColumns[sort], ...alphabetical];
}

type AutomationExpression = ExpressionBuilder<Tables, 'automation'>;

function visibleTo(expression: AutomationExpression, groups: readonly string[]): Expression<SqlBool> {
  const open = expression('restricted', '=', 0);
  if (groups.length === 0) return open;
  const shared = expression
    .selectFrom('automation_group')
    .select('automation_id')
    .where('group_name', 'in', groups.map(exactKey));
  return expression.or([open, expression('id', 'in', shared)]);
}

/** A document without the field matches no filter on it. */
function matches(
  expression: AutomationExpression,
  { kind, field, text }: TextFilter,
  dialect: Database['dialect'],
): Expression<SqlBool> {
  const column = keyColumns[field];
  const key = sortKey(text);
  switch (kind) {
    case 'equals':
      return expression(column, '=', key);
    case 'startsWith': {
      const behind = keyBehind(key);
      const from = expression(column, '>=', key);
      return behind === undefined ? from : expression.and([from, expression(column, '<', behind)]);
    }
    case 'contains':
      break;
  }
  // UTF-8 holds no character inside another, so that bytes are found where characters are.
  return dialect === 'postgres'
    ? sql<SqlBool>`position(${key} in ${sql.ref(column)}) > 0`
    : sql<SqlBool>`instr(${sql.ref(column)}, ${key}) > 0`;
}
