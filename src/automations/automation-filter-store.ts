import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { keyColumns } from './automation-row.ts';
import type { PersonFilter, TextFilter } from './list-options.ts';
import { exactKey, keyBehind, sortKey } from './sort-key.ts';

interface Matching {
  readonly dialect: Database['dialect'];
  /** Whether a description is longer than what its index has of it: then the index does not serve. */
  readonly isCut: boolean;
}

/** The condition on a row of `automation`. A document without the field matches no filter on it. */
export function matches({ kind, field, text }: TextFilter, { dialect, isCut }: Matching): RawBuilder<SqlBool> {
  const column =
    field === 'data.description' && isCut ? sql`coalesce(description_key, description_start)` : sql.ref(keyColumns[field]);
  const key = sortKey(text);
  if (kind === 'equals') return sql<SqlBool>`${column} = ${key}`;
  if (kind === 'startsWith') {
    const behind = keyBehind(key);
    const from = sql<SqlBool>`${column} >= ${key}`;
    return behind === undefined ? from : sql<SqlBool>`${from} and ${column} < ${behind}`;
  }
  // In UTF-8 the bytes of a character never occur inside another one, so that a search by bytes finds characters.
  return dialect === 'postgres'
    ? sql<SqlBool>`position(${key}::bytea in ${column}) > 0`
    : sql<SqlBool>`instr(${column}, ${key}) > 0`;
}

export function hasPerson({ kind, person }: PersonFilter): RawBuilder<SqlBool> {
  return sql<SqlBool>`automation.number in (select number from automation_person where kind = ${kind} and name = ${exactKey(person)})`;
}

/** The condition on a row of `automation` that names a workflow which one of the globs matches, in any case. */
export function namesCovered(globs: readonly string[], { dialect }: Pick<Matching, 'dialect'>): RawBuilder<SqlBool> {
  if (globs.length === 0) return sql<SqlBool>`1 = 0`;
  const column = sql.ref(keyColumns['data.workflowId']);
  // Letters, digits, `.`, `-` and `*` alone (access.roles): nothing else in them has a meaning of its own here.
  const conditions = globs.map((glob) =>
    dialect === 'postgres'
      ? sql<SqlBool>`${column} like ${exactKey(glob.toLowerCase().replaceAll('*', '%'))}`
      : sql<SqlBool>`cast(${column} as text) glob ${glob.toLowerCase()}`,
  );
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}
