import { access, rm } from 'node:fs/promises';
import { Kysely, sql } from 'kysely';
import { migrate } from '../migrate.ts';
import { formerRunsSchema } from '../migrations/0015-records.ts';
import { migrations } from '../migrations.ts';
import { createSessionDialect } from '../session-dialect.ts';
import { nameFile } from '../start-faults.ts';
import { storeUnavailable } from '../store-failure.ts';
import { filesOf, formerRunsFile, type StoreFile } from '../store-part.ts';
import type { Tables } from '../tables/tables.ts';
import { SqliteSessions } from './sqlite-sessions.ts';

/**
 * Takes over a SQLite store that has a third file, the runs. The migrations 14 and 15 read it, each in one transaction of its own file, and
 * only then it is deleted. A start that was killed in between begins with what is left to do.
 */
export async function takeOverRuns(configured: string): Promise<void> {
  const former = formerRunsFile(configured);
  const isThere = await access(former).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  for (const each of filesOf(configured)) {
    await withFormer(each, former, async (query) => {
      await migrate({ query, dialect: 'sqlite', part: each.part, migrations });
      if (each.part === 'records') await refuseOther(query, former);
    });
  }
  for (const suffix of ['', '-wal', '-shm']) await rm(`${former}${suffix}`, { force: true });
}

async function withFormer({ file }: StoreFile, former: string, work: (query: Kysely<Tables>) => Promise<void>): Promise<void> {
  const attached = { file: former, name: formerRunsSchema };
  const sessions = new SqliteSessions({ file, kind: 'write', cache: 65_536, attached });
  try {
    await work(new Kysely<Tables>({ dialect: createSessionDialect('sqlite', sessions) }));
  } catch (error) {
    throw nameFile(error, file);
  } finally {
    await sessions.close();
  }
}

/** What migration 15 took over has the times of its migrations. A file with other times came from elsewhere, and is not deleted. */
async function refuseOther(query: Kysely<Tables>, former: string): Promise<void> {
  const { rows: tables } = await sql`select 1 from ${sql.ref(formerRunsSchema)}.sqlite_schema
    where name = 'schema_migration'`.execute(query);
  if (tables.length === 0) return;
  const { rows: unknown } = await sql`select 1 from ${sql.ref(formerRunsSchema)}.schema_migration as former
    where not exists (select 1 from main.schema_migration as taken
      where taken.number = former.number and taken.applied_at = former.applied_at)`.execute(query);
  if (unknown.length > 0)
    throw storeUnavailable(
      'schema',
      `${former} is not what this store was made from, which has its runs in the audit file: move it away, or restore all files of one back-up.`,
    );
}
