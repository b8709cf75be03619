import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { RunViewer } from './run-queries.ts';
import { digestOf } from './run-row.ts';
import type { RunStoreContext } from './run-store-context.ts';

/** The condition on `run` for the runs that the viewer may see. */
export function visibleRun(context: RunStoreContext, viewer: RunViewer): RawBuilder<SqlBool> {
  const own = sql`run.principal_digest = ${digestOf(viewer.principal)}`;
  return sql<SqlBool>`(${own} or ${visibleAutomation(context, 'run.automation', viewer.groups)})`;
}

/** The condition on `event_log` for the events of these runs, and for lifecycle events of no run, which the caller judges by itself. */
export function visibleEvent(context: RunStoreContext, viewer: RunViewer): RawBuilder<SqlBool> {
  const own = sql`exists (select 1 from run where run.id = event_log.run and run.principal_digest = ${digestOf(viewer.principal)})`;
  const ofRun = sql`event_log.run is not null and (${own} or ${visibleAutomation(context, 'event_log.automation', viewer.groups)})`;
  return sql<SqlBool>`((event_log.run is null and event_log.kind = 'lifecycle') or (${ofRun}))`;
}

/** The catalogue has ids as bytes; an id has ASCII characters alone. */
export function visibleAutomation(
  { database: { dialect }, visible }: RunStoreContext,
  column: string,
  groups: readonly string[],
): RawBuilder<SqlBool> {
  const id = sql.ref(column);
  const key = dialect === 'sqlite' ? sql`cast(${id} as blob)` : sql`convert_to(${id}, 'UTF8')`;
  const isAudience = visible({ seesAll: false, groups }) ?? sql`1 = 1`;
  return sql<SqlBool>`exists (select 1 from automation where automation.id = ${key} and ${isAudience})`;
}
