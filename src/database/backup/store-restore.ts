import { access, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Kysely, sql } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { makeDirectory } from '../sqlite/make-directory.ts';
import { takeStoreLock } from '../sqlite-lock.ts';
import { filesOf, formerRunsFile, keyFileOf } from '../store-part.ts';
import type { Tables } from '../tables/tables.ts';
import { type BackupFile, openBackup } from './backup-file.ts';

/**
 * The table is there from migration 88 on. A backup may be older, so who marks a store makes the table as well, as that migration does.
 */
const createRestores = 'create table if not exists store_restore (at bigint not null primary key)';

/** What was restored. `madeAt`: milliseconds since the epoch. */
export type Restored = Pick<BackupFile, 'version' | 'madeAt'>;

/**
 * Makes a SQLite store from a backup, and marks it as restored: the next gateway on it treats it as one that lost commits. Refuses a store that
 * is there. Rejects with `store-unavailable` and what to do; then no store is there.
 */
export async function restoreStore(options: {
  readonly backupFile: string;
  readonly store: string;
  readonly now: number;
}): Promise<Restored> {
  const { backupFile, store, now } = options;
  using backup = openBackup(backupFile);
  await makeDirectory(dirname(store));
  const lock = await takeStoreLock(store);
  if (lock === undefined) throw new GatewayError('store-unavailable', `A gateway has the store ${store}: stop it first.`);
  try {
    await refuseExisting(store);
    await unpackAll(backup, store, now);
  } finally {
    lock.release();
  }
  const { version, madeAt } = backup;
  return { version, madeAt };
}

async function refuseExisting(store: string): Promise<void> {
  const files = [...filesOf(store).map(({ file }) => file), formerRunsFile(store)].flatMap((file) => [file, `${file}-wal`]);
  for (const file of [...files, keyFileOf(store)]) {
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const advice = 'move the files of that store away first, or set another store.url';
    throw new GatewayError('store-unavailable', `There is a store already, with ${file}: ${advice}.`);
  }
}

/** The file of the catalogue comes last: without it there is no store. */
async function unpackAll(backup: BackupFile, store: string, now: number): Promise<void> {
  const [main, records] = filesOf(store);
  const moves = [
    { part: 'key', file: keyFileOf(store) },
    { part: 'runs', file: formerRunsFile(store) },
    { part: records.part, file: records.file },
    { part: main.part, file: main.file },
  ].filter(({ part }) => backup.parts.has(part));
  const draftOf = (file: string): string => `${file}.restoring`;
  try {
    for (const { part, file } of moves) {
      await rm(draftOf(file), { force: true });
      await backup.unpack(part, draftOf(file));
    }
    // A store of an early version has no runs that could go on.
    if (backup.parts.has(records.part)) markFile(draftOf(records.file), now);
    for (const { file } of moves) await rename(draftOf(file), file);
    await syncFolder(dirname(store));
  } finally {
    for (const { file } of moves) for (const end of ['', '-wal', '-shm']) await rm(draftOf(file) + end, { force: true });
  }
}

/** The names of the files are then on the disk as well. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

function markFile(file: string, now: number): void {
  const database = new DatabaseSync(file);
  try {
    // In one file: a rename would leave the write-ahead log behind.
    database.exec(`pragma journal_mode = delete; ${createRestores}`);
    database.prepare('insert into store_restore values (?)').run(now);
    database.exec('pragma journal_mode = wal');
  } finally {
    database.close();
  }
}

/** As `restoreStore` marks its store: for a PostgreSQL that was restored by other means. */
export async function leaveRestoreMark(records: Kysely<Tables>, now: number): Promise<void> {
  await sql.raw(createRestores).execute(records);
  await records.insertInto('store_restore').values({ at: now }).execute();
}
