import type { Kysely } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { exactKey } from './sort-key.ts';

/** Those of the workflows that exist. */
export async function workflowsAmong(read: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await read.selectFrom('workflow').select('id').where('id', 'in', ids.map(exactKey)).distinct().execute();
  return new Set(rows.map(({ id }) => Buffer.from(id).toString('utf8')));
}
