/**
 * Walks the checklist of a release: npm run release -- 0.2.0
 *
 *   without a version   says what is missing for a release of the present version, and changes nothing
 *   with a version      writes it into the package files and the changelog, makes the pages and the fixtures of the store, then says the same
 *
 * It neither commits, nor tags, nor publishes: the last lines say how.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isSemanticVersion } from '../src/base/text/semantic-version.ts';
import { type FixtureFiles, writeStoreFixtures } from './release/store-fixture.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [wanted] = positionals;
const packageFiles = ['package.json', 'package-lock.json', 'client/package.json'];

if (wanted !== undefined) await prepare(wanted);
const { version } = read('package.json');
const fixtures = fixturesOf(version);
const checklist: readonly (readonly [what: string, isDone: boolean])[] = [
  ['every package file has the version', packageFiles.every((file) => read(file).version === version)],
  [
    'CHANGELOG.md has the version, and a date',
    new RegExp(`^## \\[${version}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'mu').test(readFileSync('CHANGELOG.md', 'utf8')),
  ],
  ...Object.values(fixtures).map((file): [string, boolean] => [
    `${file}: a store of this version, which every later version opens`,
    existsSync(file),
  ]),
  ['no file is changed and not committed', git('status', '--porcelain') === ''],
  ['the branch is main', git('branch', '--show-current') === 'main'],
  [`no tag v${version} is there yet`, git('tag', '--list', `v${version}`) === ''],
  ['dist/packages/SHA256SUMS is of this version (npm run package)', sumsName(version)],
];
for (const [what, isDone] of checklist) console.log(`${isDone ? 'ok     ' : 'MISSING'}  ${what}`);
if (checklist.some(([, isDone]) => !isDone)) process.exitCode = 1;
console.log(`
By hand, in this order:
  1. .ci/run in a clean clone, with CI=true
  2. git commit, and git tag --sign v${version}
  3. MINISIGN_KEY=… npm run package, and npm run test:packages
  4. publish the files of dist/packages, and npm publish dist/packages/orchestration-gateway-${version}.tgz
  5. read docs/guides/upgrading.md again, as a person who upgrades`);

async function prepare(next: string): Promise<void> {
  if (!isSemanticVersion(next)) throw new Error(`${next} is no semantic version, such as 0.2.0`);
  const before = read('package.json').version;
  for (const file of packageFiles) {
    const text = readFileSync(file, 'utf8');
    // Of a lock file the first two are those of the program and of its root.
    let left = file === 'package-lock.json' ? 2 : 1;
    writeFileSync(
      file,
      text.replaceAll(`"version": "${before}"`, (found) => (left-- > 0 ? `"version": "${next}"` : found)),
    );
  }
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const heading = /^## \[[^\]]*\](?: - .*)?$/mu;
  writeFileSync('CHANGELOG.md', changelog.replace(heading, `## [${next}] - ${new Date().toISOString().slice(0, 10)}`));
  execFileSync('npm', ['run', 'docs'], { stdio: 'inherit' });
  execFileSync('npm', ['run', 'client'], { stdio: 'inherit' });
  await writeStoreFixtures(fixturesOf(next));
}

function fixturesOf(of: string): FixtureFiles {
  const base = `test/support/stores/releases/${of}`;
  return { sqlite: `${base}.backup`, postgres: `${base}.postgres.sql.gz` };
}

function read(file: string): { readonly version: string } {
  return JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
}

function git(...parameters: readonly string[]): string {
  return execFileSync('git', parameters, { encoding: 'utf8' }).trim();
}

function sumsName(of: string): boolean {
  const sums = 'dist/packages/SHA256SUMS';
  return existsSync(sums) && readFileSync(sums, 'utf8').includes(`orchestration-gateway-${of}.tgz`);
}
