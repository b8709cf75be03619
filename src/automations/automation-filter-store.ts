import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { TextField } from './automation.ts';
import type { AlphabeticalPlace } from './automation-block-store.ts';
import type { TextFilter } from './list-options.ts';
import { exactKey, keyBehind, sortKey } from './sort-key.ts';

/** The column (or expression) that a field is sorted and searched by. */
export type ColumnOf = (field: TextField) => RawBuilder<Uint8Array | null>;

/** A range of the alphabetical order. */
export interface NameRange {
  readonly from: AlphabeticalPlace | undefined;
  /** Exclusive. */
  readonly to: AlphabeticalPlace | undefined;
}

const noName = new Uint8Array();

/** The range of the alphabetical order that a filter on the name selects; undefined for any other filter. */
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
  // In UTF-8 the bytes of a character never occur inside another one, so that a search by bytes finds characters.
  return dialect === 'postgres' ? sql<SqlBool>`${column} like ${patternOf(key)}` : sql<SqlBool>`instr(${column}, ${key}) > 0`;
}

/** The condition on a row of `automation` that names a workflow which one of the globs matches, in any case. */
export function namesCovered(
  globs: readonly string[],
  { columnOf, dialect }: { readonly columnOf: ColumnOf; readonly dialect: Database['dialect'] },
): RawBuilder<SqlBool> {
  if (globs.length === 0) return sql<SqlBool>`1 = 0`;
  const column = columnOf('data.workflowId');
  // Letters, digits, `.`, `-` and `*` alone (access.roles): nothing else in them has a meaning of its own here.
  const conditions = globs.map((glob) =>
    dialect === 'postgres'
      ? sql<SqlBool>`${column} like ${exactKey(glob.toLowerCase().replaceAll('*', '%'))}`
      : sql<SqlBool>`cast(${column} as text) glob ${glob.toLowerCase()}`,
  );
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}

/** PostgreSQL estimates how many rows match a pattern, but not for `position`. The estimate decides whether it reads with two workers. */
function patternOf(key: Uint8Array): Uint8Array {
  const [percent, underscore, backslash] = Buffer.from('%_\\');
  const literal = [...key].flatMap((byte) =>
    byte === percent || byte === underscore || byte === backslash ? [backslash, byte] : [byte],
  );
  return Uint8Array.from([percent, ...literal, percent].filter((byte) => byte !== undefined));
}
