import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Database } from '#database/database.ts';
import type { Rollups } from '#statistics/rollups.ts';
import type { RunChanges } from './run-changes.ts';

/** What the parts of the run store share. */
export interface RunStoreContext {
  readonly database: Database;
  readonly clock: Clock;
  /** The time that decides about leases and wake-ups, as an expression: the server's on PostgreSQL, so that gateways agree. */
  readonly now: () => RawBuilder<number>;
  readonly changes: RunChanges;
  readonly visible: VisibleAutomations;
  readonly rollups: Rollups;
  /** Of this process, for its rows of rollups. */
  readonly gateway: string;
  readonly limitReached?: LimitReached | undefined;
  /** One id for all principals of a person, for turns and limits. */
  readonly personOf: (principal: string) => string;
}

/** The condition on `automation` for those that members of the groups may see; undefined: all. */
export type VisibleAutomations = (viewer: {
  readonly seesAll: false;
  readonly groups: readonly string[];
}) => RawBuilder<SqlBool> | undefined;

/** A subquery, so that PostgreSQL computes it once for a statement, and can use an index with it. */
const serverTime = sql<number>`(select floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`;

export function storeTime({ dialect }: Database, clock: Clock, decides: 'server' | 'process'): () => RawBuilder<number> {
  if (dialect === 'postgres' && decides === 'server') return () => serverTime;
  return () => sql<number>`cast(${clock.now()} as bigint)`;
}

/** The earlier of a column that may be null, and now. */
export function atOnce(now: RawBuilder<number>): RawBuilder<number> {
  return sql<number>`case when due_at is not null and due_at < ${now} then due_at else ${now} end`;
}
