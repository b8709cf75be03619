import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { output } from './shell.ts';

/** What all packages of one run share. */
export interface Recipe {
  /** The checkout. */
  readonly root: string;
  readonly version: string;
  /** Seconds since the epoch: every file in a package has this time, so that two runs give the same bytes. */
  readonly epoch: string;
  /** Where the packages are written. */
  readonly output: string;
  /** A folder of this run alone, removed at its end. */
  readonly work: string;
  /** The program with its Node.js, as the archive, the .deb, the .rpm and the image have it. */
  readonly tree: string;
  /** True for tests: little compression. */
  readonly isQuick: boolean;
}

export const program = 'orchestration-gateway';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The time of the last commit; without a repository that git reads, the day of the newest version in CHANGELOG.md. */
async function timeOfSource(): Promise<string> {
  try {
    return (await output('git', ['log', '-1', '--format=%ct'], { cwd: root })).trim();
  } catch (error) {
    const day = /^## \[[^\]]+\] - (\S+)$/mu.exec(await readFile(join(root, 'CHANGELOG.md'), 'utf8'))?.[1];
    if (day === undefined) throw error;
    return String(Date.parse(day) / 1000);
  }
}

/** `isQuick`: see `Recipe`. SOURCE_DATE_EPOCH replaces the time of the source. */
export async function recipe({ isQuick }: { readonly isQuick: boolean }): Promise<Recipe> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const epoch = process.env['SOURCE_DATE_EPOCH'] ?? (await timeOfSource());
  const work = await mkdtemp(join(tmpdir(), `${program}-packages-`));
  return { root, version, epoch, work, isQuick, output: join(root, 'dist', 'packages'), tree: join(work, 'tree') };
}
