import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { exactKey } from './sort-key.ts';

/** Whose view of the catalogue is read. */
export interface Viewer {
  /** Group lists do not restrict it. */
  readonly seesAll: boolean;
  readonly groups: readonly string[];
  /** Globs of workflow ids: it sees only automations that name such a workflow, and in a list perhaps those whose ids differ in case. */
  readonly workflows?: readonly string[];
}

/** The condition on `automation` for the documents that the viewer may see; undefined where it sees all. */
export function visibleTo({ seesAll, groups }: Viewer): RawBuilder<SqlBool> | undefined {
  if (seesAll) return undefined;
  if (groups.length === 0) return sql<SqlBool>`automation.restricted = 0`;
  return sql<SqlBool>`(automation.restricted = 0 or automation.number in (
    select number from automation_group where group_name in (${sql.join(groups.map(exactKey))})))`;
}
