import { execFileSync } from 'node:child_process';
import { glob, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isInstalled, output } from './shell.ts';

const sums = 'SHA256SUMS';

/** Writes SHA256SUMS over every package in the folder, and SHA256SUMS.minisig where the file of a secret key is given. */
export async function writeSums(folder: string, key?: string): Promise<void> {
  for (const stale of [sums, `${sums}.minisig`]) await rm(join(folder, stale), { force: true });
  const files = (await Array.fromAsync(glob('*', { cwd: folder }))).toSorted();
  await writeFile(join(folder, sums), await output('sha256sum', files, { cwd: folder }));
  if (key === undefined) return;
  if (!isInstalled('minisign')) throw new Error('MINISIGN_KEY is set, and minisign is not installed: apt-get install minisign');
  // Its terminal is that of this process: a person types the password of the key.
  execFileSync('minisign', ['-S', '-s', resolve(key), '-m', sums], { cwd: folder, stdio: 'inherit' });
}
