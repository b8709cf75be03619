import { type SqlBool, sql, type Transaction } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { RunPerson, RunWrite } from './run-records.ts';
import { digestOf, summaryColumns, summaryOf } from './run-row.ts';
import type { RunStoreContext } from './run-store-context.ts';

/** Who joined the runs with these steps. */
export async function writePeople(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  writes: readonly Pick<RunWrite, 'run' | 'people'>[],
): Promise<void> {
  const rows = writes.flatMap(({ run, people }) =>
    people.map(({ id, username, as }) => [run, digestOf(id), as, JSON.stringify({ id, username } satisfies NamedPrincipal)]),
  );
  if (rows.length === 0) return;
  const columns = { run: 'text', principal_digest: 'text', involvement: 'text', facts: 'text' } as const;
  await sql`insert into run_person (run, principal_digest, involvement, facts)
    select run, principal_digest, involvement, facts from ${jsonRows(dialect, columns, rows)}
    where true on conflict do nothing`.execute(transaction);
}

/** By run. */
export async function joinedPeople(
  { database: { dialect, read } }: RunStoreContext,
  runs: readonly string[],
): Promise<ReadonlyMap<string, readonly RunPerson[]>> {
  const rows = await read
    .selectFrom('run_person')
    .select(['run', 'involvement', 'facts'])
    .where(isOneOf(dialect, 'run', runs))
    .execute();
  const people = rows.map(({ run, involvement, facts }) => {
    const person = { ...(JSON.parse(facts) as NamedPrincipal), as: involvement as RunPerson['as'] };
    return { run, person };
  });
  const byRun = Map.groupBy(people, ({ run }) => run);
  return new Map([...byRun].map(([run, entries]) => [run, entries.map(({ person }) => person)]));
}

/** The facts of a run have a digest as a member of its pins. No other text in them can look like that. */
export async function isPinned({ database: { read } }: RunStoreContext, digests: readonly string[]): Promise<boolean> {
  for (const digest of digests) {
    const row = await read
      .selectFrom('run_claim')
      .innerJoin('run', 'run.id', 'run_claim.run')
      .select('run.id')
      .where(sql<SqlBool>`run.facts like ${`%"digest":"${digest}"%`}`)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const readAtOnce = 500;

/** In whose names the runs call that have not ended and are not suspended. */
export async function callingPrincipals({ database: { read } }: RunStoreContext): Promise<readonly NamedPrincipal[]> {
  const examples = await goingOn(read)
    .select(({ fn }) => fn.min('run.id').as('id'))
    .groupBy('run.principal_digest')
    .execute();
  const principals: NamedPrincipal[] = [];
  for (let start = 0; start < examples.length; start += readAtOnce) {
    const ids = examples.slice(start, start + readAtOnce).map(({ id }) => id);
    const rows = await read.selectFrom('run').select(summaryColumns).where('id', 'in', ids).execute();
    principals.push(...rows.map((row) => summaryOf(row).principal));
  }
  return principals;
}

/** The ids of these runs of one principal. */
export async function callingRuns({ database: { read } }: RunStoreContext, principal: string): Promise<readonly string[]> {
  const rows = await goingOn(read).select('run.id').where('run.principal_digest', '=', digestOf(principal)).execute();
  return rows.map(({ id }) => id);
}

function goingOn(read: RunStoreContext['database']['read']) {
  return read.selectFrom('run_claim').innerJoin('run', 'run.id', 'run_claim.run').where('run.status', '!=', 'suspended');
}
