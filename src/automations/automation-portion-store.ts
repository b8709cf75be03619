import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Tables } from '#database/tables.ts';
import type { TextField } from './automation.ts';
import type { ColumnOf } from './automation-filter-store.ts';
import { keyColumns } from './automation-row.ts';
import { type RunField, runFields } from './run-facts.ts';

/** Some of the rows of `automation`, and how a listing reads them. */
export interface Portion {
  /** What follows `from`: the table `automation`, perhaps with joins. */
  readonly from: RawBuilder<unknown>;
  /** Undefined: these are all rows. */
  readonly condition?: RawBuilder<SqlBool>;
  readonly columnOf: ColumnOf;
}

/**
 * The rows of `automation` in portions without a common row. In general there is one portion. Where a listing sorts or filters by run facts
 * and there are notes (`isNoted`), the automations with notes are a second portion. The index of a run fact has what the owner wrote: it
 * serves the first portion alone. A listing reads and sorts the whole second portion.
 */
export async function portionsFor(
  moment: Kysely<Tables>,
  { fields, isNoted }: { readonly fields: readonly TextField[]; readonly isNoted: boolean },
): Promise<readonly [Portion, ...Portion[]]> {
  // The index of descriptions has only the beginning of a very long one: while there are any, the index does not serve.
  const isCut =
    fields.includes('data.description') &&
    (await moment.selectFrom('automation').select('audience').where('description_key', 'is not', null).limit(1).execute())
      .length > 0;
  const ofOwner: ColumnOf = (field) =>
    field === 'data.description' && isCut
      ? sql<Uint8Array | null>`coalesce(description_key, description_start)`
      : sql.ref<Uint8Array | null>(`automation.${keyColumns[field]}`);
  const from = sql`automation`;
  const touched = isNoted ? runFields.filter((field) => fields.includes(field)) : [];
  if (touched.length === 0) return [{ from, columnOf: ofOwner }];
  return [
    {
      from,
      condition: sql<SqlBool>`not exists (select 1 from run_fact where automation_id = automation.id)`,
      columnOf: ofOwner,
    },
    {
      from: sql`automation ${sql.join(touched.map(joinOf), sql` `)}`,
      condition: sql<SqlBool>`automation.id in (select automation_id from run_fact)`,
      columnOf: (field) => keysInEffect[field] ?? ofOwner(field),
    },
  ];
}

/** The note that is in force, if there is one. */
function joinOf(field: RunField): RawBuilder<unknown> {
  const revision = { lastRunAt: sql`automation.last_run_revision`, nextRunAt: sql`automation.next_run_revision` }[field];
  const note = sql.ref(`note_of_${field}`);
  return sql`left join run_fact as ${note} on ${note}.automation_id = automation.id and ${note}.field = ${field}
    and ${note}.revision = ${revision}`;
}

/** As `factsInEffect`. */
const keysInEffect: Readonly<Partial<Record<TextField, RawBuilder<Uint8Array | null>>>> = Object.fromEntries(
  runFields.map((field) => {
    const note = sql.ref(`note_of_${field}`);
    const owned = sql.ref(`automation.${keyColumns[field]}`);
    return [field, sql`case when ${note}.revision is null then ${owned} else ${note}.at_key end`];
  }),
);
