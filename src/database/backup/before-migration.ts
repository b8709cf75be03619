import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Log } from '#base/log.ts';
import { packageVersion } from '#base/package-version.ts';
import { migrationsOf } from '../migrate.ts';
import { migrations } from '../migrations.ts';
import { filesOf, type StoreFile } from '../store-part.ts';
import { backUpStore } from './store-backup.ts';

/**
 * Writes a backup next to a SQLite store that this start is going to migrate. There is no other way back over several minor versions.
 * Rejects with `store-unavailable` where there is no room: then the store is as it was.
 */
export async function backUpBeforeMigration(store: string, log: Log): Promise<void> {
  // A store of an early version has one file, or three.
  if (!filesOf(store).some((each) => existsSync(each.file) && isBehind(each))) return;
  const version = await packageVersion();
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/gu, '');
  const target = `${store}.before-${version}-${time}.backup`;
  await backUpStore({ store, target, version });
  log.info('the store is backed up before this version migrates it', { file: target });
}

/** True where a migration of this version is missing in a file that has some. */
function isBehind({ file, part }: StoreFile): boolean {
  try {
    using opened = new DisposableStack();
    const database = opened.adopt(new DatabaseSync(file, { readOnly: true, timeout: 5_000 }), (one) => one.close());
    const applied = new Set(
      database
        .prepare('select number from schema_migration')
        .all()
        .map(({ number }) => Number(number)),
    );
    return applied.size > 0 && migrationsOf({ dialect: 'sqlite', migrations, part }).some(({ number }) => !applied.has(number));
  } catch {
    // No store yet, or a file that the start itself refuses with a reason.
    return false;
  }
}
