/**
 * Makes every package of this version under dist/packages/, from one tree of files: npm run package
 *
 *   --quick        compresses little, for tests
 *   --only NAMES   some of archive, npm, deb, rpm, image, chart, sbom; names are separated by commas
 *
 * A package whose tool is missing is left out, with a line that names the tool. With CI=true that fails.
 * MINISIGN_KEY names the file of a secret key, which signs the sums. minisign asks for the password of that key, if it has one.
 */
import { mkdir, rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { makeArchive } from './package/archive.ts';
import { makeChart } from './package/chart.ts';
import { makeDeb } from './package/deb.ts';
import { makeImage } from './package/image.ts';
import { makeNpmPackage } from './package/npm-package.ts';
import { makeProgramTree } from './package/program-tree.ts';
import { recipe } from './package/recipe.ts';
import { makeRpm } from './package/rpm.ts';
import { makeSbom } from './package/sbom.ts';
import { isInstalled } from './package/shell.ts';
import { writeSums } from './package/sums.ts';

const makers = {
  archive: { make: makeArchive, tool: 'xz' },
  deb: { make: makeDeb, tool: 'dpkg-deb' },
  rpm: { make: makeRpm, tool: 'rpmbuild' },
  image: { make: makeImage, tool: 'buildah' },
  npm: { make: makeNpmPackage, tool: 'npm' },
  chart: { make: makeChart, tool: 'tar' },
  sbom: { make: makeSbom, tool: 'npm' },
} as const;

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } } });
const named = values.only?.split(',') ?? Object.keys(makers);
const unknown = named.filter((name) => !Object.hasOwn(makers, name));
if (unknown.length > 0) throw new Error(`--only knows ${Object.keys(makers).join(', ')}, not ${unknown.join(', ')}`);

const given = await recipe({ isQuick: values.quick });
if (values.only === undefined) await rm(given.output, { recursive: true, force: true });
await mkdir(given.output, { recursive: true });
try {
  await makeProgramTree(given);
  for (const [name, { make, tool }] of Object.entries(makers).filter(([maker]) => named.includes(maker))) {
    if (!isInstalled(tool)) {
      console.error(`${name} is left out: ${tool} is not installed`);
      if (process.env['CI'] === 'true') process.exitCode = 1;
      continue;
    }
    const begin = performance.now();
    try {
      await make(given);
    } catch (error) {
      // The others do not depend on it.
      console.error(`${name} could not be made: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
      continue;
    }
    console.log(`${name.padEnd(8)} ${((performance.now() - begin) / 1000).toFixed(1).padStart(6)} s`);
  }
} finally {
  await rm(given.work, { recursive: true, force: true });
}
await writeSums(given.output, process.env['MINISIGN_KEY']);
