import { sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { type AlphabeticalPlace, placed } from './automation-block-store.ts';
import { ownerFactColumns } from './automation-row.ts';
import { hasNotes, textsOf } from './run-fact-store.ts';

/** Documents of an export that are in memory at a time; one is 1 MiB at most. */
const exportedAtOnce = 50;

/** Every document of one moment in alphabetical order, as JSON texts. The transaction ends with the generator. */
export async function* exportAutomations({
  read,
  dialect,
}: Pick<Database, 'read' | 'dialect'>): AsyncGenerator<readonly string[], void, undefined> {
  const moment = await read.startTransaction().execute();
  try {
    // The caller may read slowly, and this transaction holds no lock that others wait for.
    if (dialect === 'postgres') await sql`set local idle_in_transaction_session_timeout = 60000`.execute(moment);
    // Reads the notes first (run-fact-store.ts).
    const isNoted = await hasNotes(moment);
    let last: AlphabeticalPlace = { nameKey: new Uint8Array(), name: new Uint8Array() };
    for (;;) {
      const rows = await moment
        .selectFrom('automation')
        .select(['id', 'name_key', 'name', 'document', ...ownerFactColumns])
        .where(placed('>', last))
        .orderBy('name_key')
        .orderBy('name')
        .limit(exportedAtOnce)
        .execute();
      const end = rows.at(-1);
      if (end === undefined) return;
      yield await textsOf(moment, { rows, isNoted });
      last = { nameKey: end.name_key, name: end.name };
    }
  } finally {
    await moment.rollback().execute();
  }
}
