import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '#base/system-code.ts';

/**
 * Makes a directory, and those above it that are missing, with mode 0700. Rejects with the error of the system. Node's own `recursive`
 * never ends in `/proc`, where the kernel reports a missing directory (ENOENT) although the one above is there.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    const above = dirname(path);
    if (systemCode(error) !== 'ENOENT' || above === path) throw error;
    await makeDirectory(above);
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    // A directory that is there has several error codes, such as EEXIST and EROFS.
    const isThere = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isThere) throw error;
  }
}
