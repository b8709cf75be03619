import { sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { RunStatus } from '../interpreter/state/run-state.ts';

export interface LastRun {
  readonly id: string;
  readonly status: RunStatus;
  /** Milliseconds since the epoch. */
  readonly endedAt: number | undefined;
}

type LastRunRow = { readonly automation: string; readonly id: string; readonly status: string; readonly ended_at: number | null };

/** The newest runs of each of these automations (`_id`), without those that other runs began: at most `most`, the newest first. */
export async function lastRuns(
  { read, dialect }: Pick<Database, 'dialect' | 'read'>,
  automations: readonly string[],
  most: number,
): Promise<ReadonlyMap<string, readonly LastRun[]>> {
  const newest = (
    automation: ReturnType<typeof sql>,
  ) => sql`from run where automation = ${automation} and parent is null and in_batch is null
    order by created_at desc, id desc limit ${most}`;
  // An index finds the newest of one automation; a window over all of them would read all runs.
  const { rows } =
    dialect === 'postgres'
      ? await sql<LastRunRow>`select found.* from unnest(${automations}::text[]) as named(automation)
          cross join lateral (select automation, id, status, ended_at, created_at ${newest(sql`named.automation`)}) as found
          order by created_at desc, id desc`.execute(read)
      : await sql<LastRunRow>`select run.automation, run.id, status, ended_at from json_each(${JSON.stringify(automations)}) as named
          join run on run.id in (select id ${newest(sql`named.value`)}) order by created_at desc, run.id desc`.execute(read);
  const byAutomation = Map.groupBy(rows, ({ automation }) => automation);
  return new Map(
    [...byAutomation].map(([automation, runs]) => [
      automation,
      runs.map(({ id, status, ended_at: end }) => ({ id, status: status as RunStatus, endedAt: end ?? undefined })),
    ]),
  );
}
