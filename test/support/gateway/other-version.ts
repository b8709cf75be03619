import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import type { Owner } from '../owner.ts';
import { executable } from './gateway-process.ts';

/** `src/main.ts`, and `src/program/main.js` of the bundle. */
const root = join(dirname(executable), basename(dirname(executable)) === 'src' ? '..' : '../..');
const copied = ['src', 'demo', 'client/src'];

/**
 * The tested program under another version number, which is a stand-in for a neighbouring release. Answers the path of its executable. The copy goes
 * with the owner.
 */
export function programOfVersion(owner: Owner, version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'other-version-'));
  owner.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of copied)
    if (existsSync(join(root, name))) cpSync(join(root, name), join(folder, name), { recursive: true, verbatimSymlinks: true });
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  // The bundle is within the repository, whose packages it uses.
  const packages = [root, join(root, '..')].map((each) => join(each, 'node_modules')).find((each) => existsSync(each));
  if (packages !== undefined) symlinkSync(packages, join(folder, 'node_modules'));
  return join(folder, relative(root, executable));
}

export function nextMinorVersion(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return `${major}.${minor + 1}.0`;
}
