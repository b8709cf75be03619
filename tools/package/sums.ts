import { glob, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Recipe } from './recipe.ts';
import { output } from './shell.ts';

const sums = 'SHA256SUMS';

/** SHA256SUMS over every package, and SHA256SUMS.minisig where a key is given. */
export async function writeSums({ output: folder }: Recipe): Promise<void> {
  for (const stale of [sums, `${sums}.minisig`]) await rm(join(folder, stale), { force: true });
  const files = (await Array.fromAsync(glob('*', { cwd: folder }))).toSorted();
  await writeFile(join(folder, sums), await output('sha256sum', files, { cwd: folder }));
  const key = process.env['MINISIGN_KEY'];
  if (key !== undefined) await output('minisign', ['-S', '-s', key, '-m', sums], { cwd: folder });
}
