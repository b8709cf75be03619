import { access } from 'node:fs/promises';
import type { Kysely } from 'kysely';
import { packageVersion } from '#base/package-version.ts';
import { systemCode } from '#base/system-code.ts';
import { migrate, migrationsOf, refuseNewer } from './migrate.ts';
import { migrations } from './migrations.ts';
import { nameFile } from './start-faults.ts';
import { isWriteRefusal, StatementRefused, storeUnavailable } from './store-failure.ts';
import type { StoreFile, StorePart } from './store-part.ts';
import { recordsSchema } from './store-sources.ts';
import type { Tables } from './tables/tables.ts';

/**
 * Brings SQLite files up to date, all at the same time: a worker thread needs a tenth of a second to start. `writing` has the writer of
 * each file, `read` sees all of them. Rejects with what to do about the first file that failed.
 */
export async function migrateFiles(
  files: readonly StoreFile[],
  { writing, read }: { readonly writing: readonly Kysely<Tables>[]; readonly read: Kysely<Tables> },
): Promise<void> {
  const migrated = files.map(async (each, index) => {
    const query = writing[index];
    if (query === undefined) throw new Error('Each file has a writer.');
    try {
      await migrateFile(query, read, each.part);
    } catch (error) {
      throw nameFile(error, each.file);
    }
  });
  await Promise.allSettled(migrated);
  await Promise.all(migrated);
}

async function migrateFile(query: Kysely<Tables>, read: Kysely<Tables>, part: StorePart): Promise<void> {
  try {
    await migrate({ query, dialect: 'sqlite', part, migrations });
  } catch (error) {
    // A full disk or a read-only file: the gateway serves reads, and writes as soon as they are possible again.
    if (!isWriteRefusal(error) || !(await isUpToDate(read, { dialect: 'sqlite', part }).catch(() => false))) throw error;
  }
}

interface Schema {
  readonly dialect: 'sqlite' | 'postgres';
  readonly part: StorePart;
}

/** True where the store has the schema of this version. Rejects where the store does not answer. */
async function isUpToDate(read: Kysely<Tables>, { dialect, part }: Schema): Promise<boolean> {
  try {
    // Each SQLite file has a table of this name.
    const schema = dialect === 'sqlite' && part === 'records' ? read.withSchema(recordsSchema) : read;
    const rows = await schema.selectFrom('schema_migration').select('number').execute();
    const applied = new Set(rows.map(({ number }) => number));
    const newest = Math.max(0, ...applied);
    const last = migrations.at(-1)?.number ?? 0;
    const wanted = migrationsOf({ dialect, migrations, part });
    // A store that a gateway of the next version migrated: `migrate` has accepted it, and its rows say which versions work on it.
    return wanted.every(({ number }) => applied.has(number)) && (newest <= last || (await isNextVersion(schema, last)));
  } catch (error) {
    if (error instanceof StatementRefused) return false;
    throw error;
  }
}

/** True where every migration that this version does not know lets this version work. */
async function isNextVersion(schema: Kysely<Tables>, last: number): Promise<boolean> {
  const rows = await schema.selectFrom('schema_migration').select(['number', 'lowest']).where('number', '>', last).execute();
  const version = await packageVersion();
  try {
    refuseNewer(new Map(rows.map(({ number, lowest }) => [number, lowest])), { last, version });
    return true;
  } catch {
    return false;
  }
}

/** For a store that may not be created. */
export async function refuseMissing(files: readonly StoreFile[]): Promise<void> {
  for (const { file } of files) {
    try {
      await access(file);
    } catch (error) {
      const code = systemCode(error) ?? 'unknown';
      throw storeUnavailable(
        code,
        `There is no store at ${file} (${code}): check store.url. The gateway makes it when it starts.`,
      );
    }
  }
}

/** For a store that may not be migrated. `read` sees every part. */
export async function refuseOtherTables(read: Kysely<Tables>, dialect: Schema['dialect']): Promise<void> {
  for (const part of ['main', 'records'] as const) {
    if (await isUpToDate(read, { dialect, part })) continue;
    throw storeUnavailable(
      'schema',
      'The store has not the tables of this version: check store.url, and that this version of the gateway was started on it.',
    );
  }
}
