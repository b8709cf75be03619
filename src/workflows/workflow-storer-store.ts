import type { Database } from '#database/database.ts';
import type { Storer } from './storer.ts';
import { storedBytes, storedText } from './workflow-row.ts';

/** A version that an earlier gateway stored, which kept the name of its storer alone. */
export interface UnsettledVersion {
  readonly id: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly createdBy: string;
}

/** Some versions whose storers no gateway has looked for. */
export async function unsettledVersions({ query }: Pick<Database, 'query'>): Promise<readonly UnsettledVersion[]> {
  const rows = await query
    .selectFrom('workflow')
    .select(['id', 'version', 'created_at', 'created_by'])
    .where('storers', 'is', null)
    .orderBy('id')
    .orderBy('version')
    .limit(100)
    .execute();
  return rows.map(({ id, version, created_at: createdAt, created_by: createdBy }) => {
    return { id: storedText(id), version: storedText(version), createdAt, createdBy };
  });
}

/** Somebody may have taken the version meanwhile, at another gateway. */
export async function settleStorers(
  { query }: Pick<Database, 'query'>,
  { id, version }: UnsettledVersion,
  storers: readonly Storer[],
): Promise<void> {
  await query
    .updateTable('workflow')
    .set({ storers: JSON.stringify(storers) })
    .where('id', '=', storedBytes(id))
    .where('version', '=', storedBytes(version))
    .where('storers', 'is', null)
    .execute();
}
