import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { filesOf } from './store-part.ts';

/** What SQLite's own check finds wrong with the files of a store, one sentence each. Reads the whole of each file. */
export function checkFiles(store: string): readonly string[] {
  return filesOf(store).flatMap(({ file }) => {
    const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    try {
      const found = database
        .prepare('pragma quick_check(1)')
        .all()
        .map((row) => String(row['quick_check']));
      return found.filter((text) => text !== 'ok').map((text) => `${file}: ${text}`);
    } finally {
      database.close();
    }
  });
}

/** The clock of the store, in milliseconds since the epoch. That of a SQLite store is its newest audit record, if it has one. */
export async function storeClock({ read, dialect }: Pick<Database, 'read' | 'dialect'>): Promise<number | undefined> {
  const query =
    dialect === 'postgres'
      ? sql<{ readonly now: number | null }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`
      : sql<{ readonly now: number | null }>`select max(at) as now from audit_entry`;
  const { rows } = await query.execute(read);
  return rows[0]?.now ?? undefined;
}
