import { type Kysely, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type OwnerFactRow, ownerFactsOf } from './automation-row.ts';
import { factsInEffect, keyOfTime, type NotedFacts, type RunNote, runFields, withRunFacts } from './run-facts.ts';

/** Whether any run noted anything. */
export async function hasNotes(read: Kysely<Tables>): Promise<boolean> {
  return (await read.selectFrom('run_fact').select('revision').limit(1).executeTakeFirst()) !== undefined;
}

/** What runs noted of these automations, by the `_id` in hexadecimal digits. Notes that are out of force are among them. */
type NotesById = ReadonlyMap<string, readonly RunNote[]>;

/**
 * Read the notes before their rows of `automation`. On SQLite these are two files, and a transaction sees each at a moment of its own. A
 * note that is older than its row may be out of force, which its revision says. A row that is older than the notes could miss its own note,
 * which was deleted after the row changed.
 */
export async function notesOf(read: Kysely<Tables>, ids: readonly Uint8Array[]): Promise<NotesById> {
  const notes = new Map<string, RunNote[]>();
  for (let start = 0; start < ids.length; start += idsAtOnce) {
    const rows = await read
      .selectFrom('run_fact')
      .selectAll()
      .where('automation_id', 'in', ids.slice(start, start + idsAtOnce))
      .execute();
    for (const { automation_id, field, revision, at_key: key } of rows) {
      const id = hex(automation_id);
      const known = notes.get(id);
      if (known === undefined) notes.set(id, [{ field, revision, key }]);
      else known.push({ field, revision, key });
    }
  }
  return notes;
}

type DocumentRow = OwnerFactRow & Pick<Tables['automation'], 'id' | 'document'>;

/** The whole documents of some rows, as JSON texts. `isNoted` is what `hasNotes` answered before, in the same transaction. */
export async function textsOf(
  read: Kysely<Tables>,
  { rows, isNoted }: { readonly rows: readonly DocumentRow[]; readonly isNoted: boolean },
): Promise<readonly string[]> {
  const ids = isNoted ? rows.map(({ id }) => id) : [];
  const notes = await notesOf(read, ids);
  return rows.map((row) => withRunFacts(row.document, factsInEffect(ownerFactsOf(row), notes.get(hex(row.id)) ?? [])));
}

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const idsAtOnce = 500;

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/**
 * Notes what a run did. False where there is no such automation. It waits for no writer of the catalogue. Where the owner changes the same
 * field meanwhile, the owner's value is in effect: the note has the revision of the row before.
 */
export async function noteRun({ read, runs }: Database, id: Uint8Array, facts: NotedFacts): Promise<boolean> {
  const row = await read
    .selectFrom('automation')
    .select(['last_run_revision as lastRunAt', 'next_run_revision as nextRunAt'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return false;
  const notes = runFields
    .filter((field) => facts[field] !== undefined)
    .map((field) => ({ automation_id: id, field, revision: row[field], at_key: keyOfTime(facts[field]) }));
  if (notes.length === 0) return true;
  await runs
    .insertInto('run_fact')
    .values(notes)
    .onConflict((conflict) =>
      conflict.columns(['automation_id', 'field', 'revision']).doUpdateSet({ at_key: sql<Uint8Array>`excluded.at_key` }),
    )
    .execute();
  return true;
}

/** Deletes the notes of these automations that are out of force: no revision comes back. */
export async function forgetNotes({ read, runs }: Database, ids: readonly Uint8Array[]): Promise<void> {
  if (ids.length === 0 || !(await hasNotes(read))) return;
  for (let start = 0; start < ids.length; start += idsAtOnce) {
    const some = ids.slice(start, start + idsAtOnce);
    const notes = await notesOf(read, some);
    if (notes.size === 0) continue;
    const rows = await read
      .selectFrom('automation')
      .select(['id', 'last_run_revision as lastRunAt', 'next_run_revision as nextRunAt'])
      .where('id', 'in', some)
      .execute();
    const current = new Map(rows.map((row) => [hex(row.id), row]));
    for (const id of some) {
      const revisions = current.get(hex(id));
      for (const { field, revision } of notes.get(hex(id)) ?? []) {
        if (revisions?.[field] === revision) continue;
        await runs
          .deleteFrom('run_fact')
          .where('automation_id', '=', id)
          .where('field', '=', field)
          .where('revision', '=', revision)
          .execute();
      }
    }
  }
}
