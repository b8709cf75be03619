import { type RawBuilder, type SqlBool, sql } from 'kysely';

type Dialect = 'sqlite' | 'postgres';

/**
 * Rows as a table of a statement, with the alias `given`. One parameter has any number of rows, so that the text of the statement stays the
 * same. The values of a row are texts, numbers or null, in the order of `columns`.
 */
export function jsonRows(
  dialect: Dialect,
  columns: Readonly<Record<string, 'text' | 'bigint'>>,
  rows: readonly (readonly (string | number | null)[])[],
): RawBuilder<unknown> {
  const read = Object.entries(columns).map(([name, type], index) => {
    const value = sql`value ->> ${sql.lit(index)}`;
    return dialect === 'sqlite' ? sql`${value} as ${sql.ref(name)}` : sql`(${value})::${sql.raw(type)} as ${sql.ref(name)}`;
  });
  const json = JSON.stringify(rows);
  const source = dialect === 'sqlite' ? sql`json_each(${json})` : sql`json_array_elements(${json}::json) as elements(value)`;
  return sql`(select ${sql.join(read)} from ${source}) as given`;
}

/** Whether the column has one of the texts: one parameter for any number of them. */
export function isOneOf(dialect: Dialect, column: string, texts: readonly string[]): RawBuilder<SqlBool> {
  return dialect === 'sqlite'
    ? sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(texts)}))`
    : sql<SqlBool>`${sql.ref(column)} = any(${texts}::text[])`;
}
