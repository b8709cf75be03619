import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Log } from '#base/log.ts';
import { every } from '#base/timing/every.ts';
import { mayActOn, type VersionedTable } from './row-version.ts';
import type { Tables } from './tables/tables.ts';

/** The rows of each table that gateways act on, or that people change. A run that has ended has no claim. */
const open = {
  automation: sql`1 = 1`,
  workflow: sql`1 = 1`,
  form: sql`1 = 1`,
  run_claim: sql`1 = 1`,
  approval: sql`status in ('waiting', 'granted')`,
  notification: sql`due_at is not null`,
  agent_task: sql`status = 'working'`,
} as const satisfies Partial<Record<VersionedTable, RawBuilder<unknown>>>;

const names = {
  automation: 'automations',
  workflow: 'versions of workflows',
  form: 'forms',
  run_claim: 'runs',
  approval: 'approvals',
  notification: 'notifications',
  agent_task: 'tasks of agents',
} as const satisfies Record<keyof typeof open, string>;

/** What waits for a newer gateway, such as "runs: 2, approvals: 1"; undefined where nothing does. */
export async function newerRows(read: Kysely<Tables>): Promise<string | undefined> {
  const found: string[] = [];
  for (const table of Object.keys(open) as (keyof typeof open)[]) {
    // The first condition is that of the index.
    const { rows } = await sql<{ readonly count: number }>`select cast(count(*) as bigint) as count from ${sql.table(table)}
      where lowest > 0 and not ${mayActOn(table)} and ${open[table]}`.execute(read);
    const count = rows[0]?.count ?? 0;
    if (count > 0) found.push(`${names[table]}: ${count}`);
  }
  return found.length === 0 ? undefined : found.join(', ');
}

/** Milliseconds. */
const usualInterval = 60_000;

/** Logs what waits for a newer gateway, at the start and after each change. */
export async function watchNewerRows(
  read: Kysely<Tables>,
  log: Log,
  interval = usualInterval,
): Promise<{ readonly stop: () => Promise<void> }> {
  let last: string | undefined;
  const look = async (): Promise<void> => {
    const found = await newerRows(read);
    if (found !== last && found === undefined) log.info('no row of the store waits for a newer version of the gateway any more');
    else if (found !== last) log.warn('rows of the store wait for a newer version of the gateway', { reason: found });
    last = found;
  };
  // Where the store is away, its own lines say so.
  const ignore = (): void => undefined;
  await look().catch(ignore);
  return every(interval, look, ignore);
}
