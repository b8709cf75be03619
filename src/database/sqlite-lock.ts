import { access, constants, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '#base/system-code.ts';
import { makeDirectory } from './sqlite/make-directory.ts';
import { cannotOpen } from './sqlite/sqlite-connection.ts';
import { nameFile } from './start-faults.ts';
import { storeUnavailable } from './store-failure.ts';

/** The right of one gateway to the SQLite file of its store. */
export interface StoreLock {
  release(): void;
}

/** SQLite's result code BUSY. */
const busy = 5;

/**
 * Takes the lock of a SQLite store: an exclusive transaction in `FILE.lock`, which the system ends with the process. `undefined`: another
 * gateway has it. Rejects with `store-unavailable` where the file of the lock cannot be made or written.
 */
export async function takeStoreLock(file: string): Promise<StoreLock | undefined> {
  // Links to one file have one lock.
  const lockFile = `${await realpath(file).catch(() => file)}.lock`;
  await makeLockFile(lockFile);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockFile, { timeout: 0 });
    // Without a journal: neither a crash nor a full disk has an effect on the lock.
    database.exec('pragma journal_mode = memory; begin exclusive');
  } catch (error) {
    database?.close();
    const code = resultCodeOf(error);
    if (code === busy) return undefined;
    throw cannotOpen(lockFile, code);
  }
  const held = database;
  return { release: () => held.close() };
}

async function makeLockFile(lockFile: string): Promise<void> {
  try {
    await makeDirectory(dirname(lockFile));
    // Only the owner may open it: a reader could keep the gateway from its lock. `wx`: to open and close the file that another gateway of this
    // process has locked would end that lock (POSIX, fcntl).
    const made = await open(lockFile, 'wx', 0o600).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    await made?.close();
    // SQLite would open a file that it cannot write, and lock nothing.
    await access(lockFile, constants.W_OK);
  } catch (error) {
    throw nameFile(storeUnavailable(systemCode(error) ?? 'unknown'), lockFile);
  }
}

function resultCodeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' ? code : 0;
}
