import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Log } from '#base/log.ts';
import { every } from '#base/timing/every.ts';
import type { StoreOptions } from '../database.ts';

/** The room on the disk of the store. */
export interface FreeSpace {
  /** True while less is free than the reserve, which is kept for changes and logins. */
  isShort(): boolean;
  close(): Promise<void>;
}

/** Bytes of the reserve, or a quarter of a smaller disk. Each write-ahead log alone takes 4 MiB. */
const maxReserve = 256 * 1024 ** 2;
const share = 4;
/** Milliseconds between two looks at the disk. */
const interval = 1_000;

/** Watches the disk of SQLite files. The disk of a PostgreSQL server cannot be seen from here, and is never short. */
export async function watchFreeSpace(store: StoreOptions, log: Log): Promise<FreeSpace> {
  if (store.kind === 'postgres') return { isShort: () => false, close: async () => {} };
  const directory = dirname(store.file);
  let short = false;
  const look = async (): Promise<void> => {
    const { bsize, blocks, bavail } = await statfs(directory);
    const [free, reserve] = [bavail * bsize, Math.min(maxReserve, (blocks * bsize) / share)];
    if (free < reserve === short) return;
    short = !short;
    const figures = { file: directory, reason: `${inMiB(free)} free, ${inMiB(reserve)} reserved` };
    if (short) log.error('the disk of the store is nearly full: the rest is kept for changes and logins', figures);
    else log.info('the disk of the store has room again', figures);
  };
  // A directory that cannot be asked shows itself when the store is opened.
  const ignored = (): void => {};
  await look().catch(ignored);
  const looking = every(interval, look, ignored);
  return { isShort: () => short, close: () => looking.stop() };
}

function inMiB(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MiB`;
}
