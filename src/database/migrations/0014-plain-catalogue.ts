import { sql, type Transaction } from 'kysely';
import type { Migration } from '../migration.ts';
import type { Tables } from '../tables/tables.ts';
import { formerRunsSchema } from './0015-records.ts';

type Dialect = 'sqlite' | 'postgres';

/** `bytea` holds bytes in either dialect: SQLite keeps a blob as it is in a column of any type. */
const key = 'bytea';

/** The fields other than the name that a listing can be sorted by. */
const sortedBy = [
  'id_key',
  'last_modified_by_key',
  'last_run_at_key',
  'next_run_at_key',
  'repeat_interval_key',
  'description_start',
  'workflow_id_key',
  'form_id_key',
  'last_updated_key',
] as const;

/**
 * The catalogue as plain tables. One has what a listing filters and sorts by, and stays narrow, since another one has the texts of the
 * documents. A third one has the groups that may see an automation. The columns of the run facts have what runs noted.
 */
export const plainCatalogue: Migration = {
  number: 14,
  name: 'plain-catalogue',
  part: 'main',
  async up(transaction, dialect) {
    await sql`alter table automation rename to former_automation`.execute(transaction);
    for (const name of ['automation_by_name', 'automation_cut', ...sortedBy.map((column) => `automation_by_${column}`)])
      await sql`drop index ${sql.ref(name)}`.execute(transaction);
    await createTables(transaction, dialect);
    await copyAutomations(transaction, dialect);
    await createIndexes(transaction, dialect);
    for (const name of ['former_automation', 'automation_audience_group', 'automation_audience', 'automation_block'])
      await sql`drop table ${sql.ref(name)}`.execute(transaction);
    if (dialect === 'postgres') await sql`analyze automation, automation_group`.execute(transaction);
  },
};

async function createTables(transaction: Transaction<Tables>, dialect: Dialect): Promise<void> {
  // On SQLite such a key is the row number, which every index has.
  const number = dialect === 'sqlite' ? 'integer' : 'bigint';
  await transaction.schema
    .createTable('automation')
    .addColumn('number', number, (column) => column.primaryKey())
    .addColumn('id', key, (column) => column.notNull())
    .addColumn('name', key, (column) => column.notNull())
    .addColumn('name_key', key, (column) => column.notNull())
    .addColumn('restricted', 'integer', (column) => column.notNull())
    .addColumn('id_key', key, (column) => column.notNull())
    .addColumn('last_modified_by_key', key)
    .addColumn('last_run_at_key', key)
    .addColumn('next_run_at_key', key)
    .addColumn('next_run_given_key', key)
    .addColumn('schedule_from', 'text')
    .addColumn('repeat_interval_key', key)
    .addColumn('description_start', key)
    .addColumn('description_key', key)
    .addColumn('workflow_id_key', key)
    .addColumn('form_id_key', key)
    .addColumn('last_updated_key', key)
    .execute();
  for (const table of ['automation_text', 'automation_group'] as const) {
    const made = transaction.schema
      .createTable(table)
      .addColumn('number', number, (column) => column.notNull().references('automation.number').onDelete('cascade'));
    await (table === 'automation_text'
      ? made.addColumn('document', 'text', (column) => column.notNull()).addPrimaryKeyConstraint('automation_text_pk', ['number'])
      : made
          .addColumn('group_name', key, (column) => column.notNull())
          .addPrimaryKeyConstraint('automation_group_pk', ['group_name', 'number'])
    ).execute();
  }
}

const dataStart = ',"data":{';
const anchorStart = `${dataStart}"scheduleFrom":"`;
/** Characters of a time such as `2026-03-01T22:00:00.000Z`. */
const timeLength = 24;

async function copyAutomations(transaction: Transaction<Tables>, dialect: Dialect): Promise<void> {
  const notes = await notesTable(transaction, dialect);
  const inEffect = (field: string, column: string, revision: string) =>
    notes === undefined
      ? sql.ref(`former.${column}`)
      : sql`(select case when count(*) = 0 then former.${sql.ref(column)} else ${dialect === 'sqlite' ? sql`max(at_key)` : sql`(array_agg(at_key))[1]`} end
          from ${notes} as note where note.automation_id = former.id and note.field = ${sql.lit(field)}
          and note.revision = former.${sql.ref(revision)})`;
  const place = (text: string) =>
    dialect === 'sqlite' ? sql`instr(former.document, ${sql.lit(text)})` : sql`strpos(former.document, ${sql.lit(text)})`;
  // JSON escapes the quotation marks of the texts before, so that the first place with these characters is the member itself.
  const hasAnchor = sql`${place(anchorStart)} > 0 and ${place(anchorStart)} = ${place(dataStart)}`;
  const afterAnchor = sql`${place(anchorStart)} + ${sql.lit(anchorStart.length + timeLength + 1)}`;
  await sql`insert into automation (number, id, name, name_key, restricted, id_key, last_modified_by_key, last_run_at_key,
      next_run_at_key, next_run_given_key, schedule_from, repeat_interval_key, description_start, description_key, workflow_id_key,
      form_id_key, last_updated_key)
    select row_number() over (order by name_key, name), id, name, name_key, case when audience = 0 then 0 else 1 end, id_key,
      last_modified_by_key, ${inEffect('lastRunAt', 'last_run_at_key', 'last_run_revision')},
      ${inEffect('nextRunAt', 'next_run_at_key', 'next_run_revision')}, next_run_at_key,
      case when ${hasAnchor} then substr(document, ${place(anchorStart)} + ${sql.lit(anchorStart.length)}, ${sql.lit(timeLength)}) end,
      repeat_interval_key, description_start, description_key, workflow_id_key, form_id_key, last_updated_key
    from former_automation as former`.execute(transaction);
  const before = sql`substr(former.document, 1, ${place(dataStart)} - 1)`;
  await sql`insert into automation_text (number, document) select automation.number, case when not (${hasAnchor}) then former.document
      when substr(former.document, ${afterAnchor}, 1) = '}' then ${before} || substr(former.document, ${afterAnchor} + 1)
      else ${before} || ${sql.lit(dataStart)} || substr(former.document, ${afterAnchor} + 1) end
    from former_automation as former join automation on automation.id = former.id`.execute(transaction);
  await sql`insert into automation_group (group_name, number) select given.group_name, automation.number
    from former_automation as former join automation on automation.id = former.id
    join automation_audience_group as given on given.audience = former.audience`.execute(transaction);
}

/** Where the notes of runs are: on SQLite in the file of an earlier store, which is attached while it is taken over. */
async function notesTable(transaction: Transaction<Tables>, dialect: Dialect) {
  if (dialect === 'postgres') return sql`run_fact`;
  const { rows } = await sql`select 1 from pragma_table_list where schema = ${formerRunsSchema} and name = 'run_fact'`.execute(
    transaction,
  );
  return rows.length === 0 ? undefined : sql`${sql.ref(formerRunsSchema)}.run_fact`;
}

/** Each has what a listing reads of a row that is not on the page. */
async function createIndexes(transaction: Transaction<Tables>, dialect: Dialect): Promise<void> {
  // A document without the field comes first. SQLite sorts so by default, and has no such clause for an index.
  const [first, rest] = dialect === 'postgres' ? [sql` nulls first`, sql`, number`] : [sql``, sql``];
  await sql`create unique index automation_id on automation (id)`.execute(transaction);
  await sql`create unique index automation_name on automation (name)`.execute(transaction);
  await sql`create index automation_by_name on automation (name_key, name, restricted${rest})`.execute(transaction);
  for (const column of sortedBy) {
    const name = sql.ref(`automation_by_${column}`);
    await sql`create index ${name} on automation (${sql.ref(column)}${first}, name_key, name, restricted${rest})`.execute(
      transaction,
    );
  }
  // Nearly always empty: a listing reads it to see that no description was truncated.
  await sql`create index automation_cut on automation (number) where description_key is not null`.execute(transaction);
  await sql`create index automation_group_automation on automation_group (number)`.execute(transaction);
}
