import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { filesOf, formerRunsFile, keyFileOf } from '../store-part.ts';
import { refuseMissing } from '../store-schema.ts';
import { packParts } from './backup-file.ts';

/** What a backup holds. */
export interface BackedUp {
  /** Bytes of the backup. */
  readonly size: number;
}

/** Milliseconds to wait for the write lock of a file, which a gateway has for one transaction at a time. */
const lockPatience = 10_000;

/** Bytes that stay free next to what a backup needs: both write-ahead logs, and the log of a gateway. */
const spare = 64 * 1024 ** 2;

/**
 * Writes one moment of a SQLite store into one file, with mode 0600, while a gateway writes the store. The key of approvals
 * is part of it, if it is a file next to the store. Overwrites nothing. Rejects with `store-unavailable` and what to do.
 */
export async function backUpStore(options: {
  readonly store: string;
  readonly target: string;
  readonly version: string;
}): Promise<BackedUp> {
  const { store, target, version } = options;
  await refuseMissing(filesOf(store).slice(0, 1));
  await requireRoomFor(store, target);
  const folder = await inFolderOf(target, () => mkdtemp(join(dirname(target), `.backup-`)));
  try {
    // A store of an early version has one file, or three.
    const copies = [...filesOf(store), { part: 'runs', file: formerRunsFile(store) }]
      .filter(({ file }) => existsSync(file))
      .map(({ part: name, file }) => ({ name, from: file, file: join(folder, name) }));
    await copyMoment(copies);
    const draft = join(folder, randomBytes(8).toString('hex'));
    await packParts(draft, { version, parts: [...copies, { name: 'key', file: keyFileOf(store), isOptional: true }] });
    // A link fails where the name is taken, and a rename would replace that file.
    await inFolderOf(target, () => link(draft, target));
    return { size: (await stat(target)).size };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function inFolderOf<T>(target: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = systemCode(error) ?? 'unknown';
    const why = code === 'EEXIST' ? 'exists, and is not overwritten' : `cannot be written (${code})`;
    throw new GatewayError('store-unavailable', `The backup ${target} ${why}: name another file.`, { cause: error });
  }
}

interface Copied {
  readonly from: string;
  readonly file: string;
}

/**
 * Copies both files as they are at one moment. Commits of two files are not atomic, so for that moment no gateway may write either of them:
 * a few milliseconds. What is copied then is what these readers see.
 */
async function copyMoment(copies: readonly Copied[]): Promise<void> {
  using opened = new DisposableStack();
  const open = ({ from }: Copied, readOnly: boolean): DatabaseSync =>
    opened.adopt(new DatabaseSync(from, { timeout: lockPatience, readOnly }), (database) => database.close());
  try {
    const writers = copies.map((copied) => open(copied, false));
    const readers = copies.map((copied) => open(copied, true));
    for (const writer of writers) writer.exec('begin immediate');
    // The first statement of a transaction decides what it sees.
    for (const reader of readers) reader.exec('begin; select count(*) from schema_migration');
    for (const writer of writers) writer.exec('rollback');
    for (const [index, { file }] of copies.entries()) await backup(readers[index] as DatabaseSync, file);
  } catch (error) {
    const { message } = error as Error;
    throw new GatewayError('store-unavailable', `The store cannot be backed up: ${message}.`, { cause: error });
  }
}

/** The backup needs its own room, and that of the copies of which it is made. */
async function requireRoomFor(store: string, target: string): Promise<void> {
  const { bsize, bavail } = await inFolderOf(target, () => statfs(dirname(target)));
  const needed = 2 * (await sizeOfStore(store)) + spare;
  if (bavail * bsize >= needed) return;
  const message = `There is no room for the backup ${target}: it needs ${inMiB(needed)} MiB, and ${inMiB(bavail * bsize)} MiB are free.`;
  throw new GatewayError('store-unavailable', message);
}

/** Bytes. */
async function sizeOfStore(store: string): Promise<number> {
  const files = filesOf(store).flatMap(({ file }) => [file, `${file}-wal`]);
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function inMiB(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2);
}
