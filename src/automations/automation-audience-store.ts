import { createHash } from 'node:crypto';
import { type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { exactKey } from './sort-key.ts';

/** Whose view of the catalogue is read. */
export interface Viewer {
  /** Group lists do not restrict it. */
  readonly seesAll: boolean;
  readonly groups: readonly string[];
  /** Globs of workflow ids: it sees only automations that name such a workflow, and in a list perhaps those whose ids differ in case. */
  readonly workflows?: readonly string[];
}

/** The audience of documents without a read list: every role that may list sees them. */
const everyone = 0;
/** The audience of the counts (`automation_block`) of all documents. */
export const wholeCatalogue = -1;

/** The condition on `automation.audience` for the documents that the viewer may see; undefined where it sees all. */
export function visibleTo({ seesAll, groups }: Viewer): RawBuilder<SqlBool> | undefined {
  if (seesAll) return undefined;
  // Two conditions and not one list: PostgreSQL would join with the list, and lose the order of the index that it reads.
  return groups.length === 0
    ? sql<SqlBool>`audience = ${everyone}`
    : sql<SqlBool>`(audience = ${everyone} or audience in (${audiencesOf(groups)}))`;
}

/** The condition on `automation_block.audience` for the counts of the documents that the viewer may see. */
export function countedFor({ seesAll, groups }: Viewer): RawBuilder<SqlBool> {
  if (seesAll) return sql<SqlBool>`audience = ${wholeCatalogue}`;
  return groups.length === 0
    ? sql<SqlBool>`audience = ${everyone}`
    : sql<SqlBool>`audience in (select ${everyone} union all ${audiencesOf(groups)})`;
}

function audiencesOf(groups: readonly string[]): RawBuilder<number> {
  return sql<number>`select audience from automation_audience_group where group_name in (${sql.join(groups.map(exactKey))})`;
}

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const groupsAtOnce = 500;

/** Finds the audience of a document's groups, or inserts it; `undefined` is the audience of every role that may list. */
export async function audienceOf(transaction: Transaction<Tables>, groups: ReadonlySet<string> | undefined): Promise<number> {
  if (groups === undefined) return everyone;
  const names = [...groups].sort();
  const digest = new Uint8Array(createHash('sha256').update(JSON.stringify(names)).digest());
  const known = await transaction
    .selectFrom('automation_audience')
    .select('audience')
    .where('digest', '=', digest)
    .executeTakeFirst();
  if (known !== undefined) return known.audience;
  const { last } = await transaction
    .selectFrom('automation_audience')
    .select(({ fn }) => fn.max<number | null>('audience').as('last'))
    .executeTakeFirstOrThrow();
  const audience = (last ?? everyone) + 1;
  await transaction.insertInto('automation_audience').values({ audience, digest }).execute();
  for (let start = 0; start < names.length; start += groupsAtOnce) {
    const rows = names.slice(start, start + groupsAtOnce).map((name) => ({ group_name: exactKey(name), audience }));
    await transaction.insertInto('automation_audience_group').values(rows).execute();
  }
  return audience;
}

/** Deletes those of the given audiences that have no document left. */
export async function forgetEmpty(transaction: Transaction<Tables>, audiences: readonly number[]): Promise<void> {
  for (const audience of audiences) {
    if (audience <= everyone) continue;
    await sql`delete from automation_audience where audience = ${audience}
      and not exists (select 1 from automation_block where automation_block.audience = ${audience})`.execute(transaction);
  }
}
