import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { readStorers, type Storer } from './storer.ts';
import { storedBytes, type WorkflowVersion } from './workflow-row.ts';

/** What is left of a version that was deleted. */
interface Tombstone {
  readonly digest: string;
  readonly storers: readonly Storer[];
}

interface VersionName {
  readonly id: string;
  readonly version: string;
}

export async function keepTombstones(transaction: Transaction<Tables>, versions: readonly WorkflowVersion[]): Promise<void> {
  for (const { id, version, digest, storers } of versions) {
    await transaction
      .insertInto('workflow_tombstone')
      .values({ id: storedBytes(id), version: storedBytes(version), digest, storers: JSON.stringify(storers) })
      .execute();
  }
}

export async function readTombstone(read: Kysely<Tables>, { id, version }: VersionName): Promise<Tombstone | undefined> {
  const row = await read
    .selectFrom('workflow_tombstone')
    .select(['digest', 'storers'])
    .where('id', '=', storedBytes(id))
    .where('version', '=', storedBytes(version))
    .executeTakeFirst();
  return row && { digest: row.digest, storers: readStorers(row.storers) };
}

/** False: there is none. */
export async function dropTombstone(query: Kysely<Tables>, { id, version }: VersionName): Promise<boolean> {
  const { numDeletedRows } = await query
    .deleteFrom('workflow_tombstone')
    .where('id', '=', storedBytes(id))
    .where('version', '=', storedBytes(version))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
