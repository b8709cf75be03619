import { type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { documentRows } from './automation-list-store.ts';
import { automationOf, documentText } from './automation-row.ts';

/** Documents of an export that are in memory at a time; one is 1 MiB at most. */
const exportedAtOnce = 50;

/** Every document of one moment in alphabetical order, as JSON texts without `lastSkip`, which an import ignores. The transaction ends with the generator. */
export async function* exportAutomations({
  read,
  dialect,
}: Pick<Database, 'read' | 'dialect'>): AsyncGenerator<readonly string[], void, undefined> {
  const moment = await read.startTransaction().execute();
  try {
    // The caller may read slowly, and this transaction holds no lock that others wait for.
    if (dialect === 'postgres') await sql`set local idle_in_transaction_session_timeout = 60000`.execute(moment);
    let last: Pick<Tables['automation'], 'name_key' | 'name'> = { name_key: new Uint8Array(), name: new Uint8Array() };
    for (;;) {
      const rows = await documentRows(moment)
        .select(['name_key', 'name'])
        .where(sql<SqlBool>`(name_key, name) > (${last.name_key}, ${last.name})`)
        .orderBy('name_key')
        .orderBy('name')
        .limit(exportedAtOnce)
        .execute();
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows.map((row) => documentText({ ...automationOf(row), lastSkip: undefined }));
      last = end;
    }
  } finally {
    await moment.rollback().execute();
  }
}
