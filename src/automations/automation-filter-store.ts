import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import type { TextField } from './automation.ts';
import type { AlphabeticalPlace } from './automation-block-store.ts';
import { keyColumns } from './automation-row.ts';
import type { TextFilter } from './list-options.ts';
import { type RunField, runFields } from './run-facts.ts';
import { keyBehind, sortKey } from './sort-key.ts';

/** The column (or expression) that a field is sorted and searched by. */
export type ColumnOf = (field: TextField) => RawBuilder<Uint8Array | null>;

/** Some of the rows of `automation`, and how they are read. */
interface Portion {
  readonly columnOf: ColumnOf;
  /** Undefined: these are all rows. */
  readonly condition?: RawBuilder<SqlBool>;
}

/**
 * The rows of `automation` in portions, each of which can use its own indexes. There is one, unless a listing sorts or filters by run
 * facts and runs noted some (`isNoted`): then the automations with notes are a portion of their own. The index of a run fact is of what
 * the owner wrote, so that these automations are found by their notes and sorted.
 */
export async function portionsFor(
  moment: Kysely<Tables>,
  { fields, isNoted }: { readonly fields: readonly TextField[]; readonly isNoted: boolean },
): Promise<readonly [Portion, ...Portion[]]> {
  // The index of descriptions has each as a whole, except very long ones: while there are any, the index does not serve.
  const isCut =
    fields.includes('data.description') &&
    (await moment.selectFrom('automation').select('audience').where('description_key', 'is not', null).limit(1).execute())
      .length > 0;
  const ofOwner: ColumnOf = (field) =>
    field === 'data.description' && isCut
      ? sql<Uint8Array | null>`coalesce(description_key, description_start)`
      : sql.ref<Uint8Array | null>(`automation.${keyColumns[field]}`);
  if (!isNoted || !fields.some(isRunField)) return [{ columnOf: ofOwner }];
  const inEffect: ColumnOf = (field) => (isRunField(field) ? keyInEffect(field) : ofOwner(field));
  return [
    {
      columnOf: ofOwner,
      condition: sql<SqlBool>`not exists (select 1 from run_fact where automation_id = automation.id)`,
    },
    { columnOf: inEffect, condition: sql<SqlBool>`automation.id in (select automation_id from run_fact)` },
  ];
}

function isRunField(field: TextField): field is RunField {
  return runFields.some((runField) => runField === field);
}

const revisionColumns = { lastRunAt: 'last_run_revision', nextRunAt: 'next_run_revision' } as const;

/** As `factsInEffect`. */
function keyInEffect(field: RunField): RawBuilder<Uint8Array | null> {
  const note = (what: RawBuilder<unknown>) => sql`(select ${what} from run_fact
    where automation_id = automation.id and field = ${field} and revision = automation.${sql.ref(revisionColumns[field])})`;
  return sql`case when exists ${note(sql`1`)} then ${note(sql.ref('at_key'))} else automation.${sql.ref(keyColumns[field])} end`;
}

/** A part of the alphabetical order. */
export interface NameRange {
  readonly from: AlphabeticalPlace | undefined;
  /** Behind the last. */
  readonly to: AlphabeticalPlace | undefined;
}

const noName = new Uint8Array();

/** What a filter on the name leaves of the alphabetical order; undefined for any other filter. */
export function nameRangeOf({ kind, field, text }: TextFilter): NameRange | undefined {
  if (field !== 'name' || kind === 'contains') return undefined;
  const nameKey = sortKey(text);
  const behind = kind === 'equals' ? nextKey(nameKey) : keyBehind(nameKey);
  return { from: { nameKey, name: noName }, to: behind && { nameKey: behind, name: noName } };
}

/** The smallest key that is greater. */
function nextKey(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

/** The condition on a row of `automation`. A document without the field matches no filter on it. */
export function matches(
  { kind, field, text }: TextFilter,
  { columnOf, dialect }: { readonly columnOf: ColumnOf; readonly dialect: Database['dialect'] },
): RawBuilder<SqlBool> {
  const column = columnOf(field);
  const key = sortKey(text);
  switch (kind) {
    case 'equals':
      return sql<SqlBool>`${column} = ${key}`;
    case 'startsWith': {
      const behind = keyBehind(key);
      return behind === undefined
        ? sql<SqlBool>`${column} >= ${key}`
        : sql<SqlBool>`${column} >= ${key} and ${column} < ${behind}`;
    }
    case 'contains':
      break;
  }
  // UTF-8 holds no character inside another, so that bytes are found where characters are.
  return dialect === 'postgres' ? sql<SqlBool>`${column} like ${patternOf(key)}` : sql<SqlBool>`instr(${column}, ${key}) > 0`;
}

/** PostgreSQL guesses how many rows a pattern matches, and does not for `position`; the guess decides whether two workers read. */
function patternOf(key: Uint8Array): Uint8Array {
  const [percent, underscore, backslash] = Buffer.from('%_\\');
  const literal = [...key].flatMap((byte) =>
    byte === percent || byte === underscore || byte === backslash ? [backslash, byte] : [byte],
  );
  return Uint8Array.from([percent, ...literal, percent].filter((byte) => byte !== undefined));
}
