import { chmod, copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { program, type Recipe } from './recipe.ts';
import { isInstalled, output } from './shell.ts';

/** What runs: TypeScript as it is, so that a stack trace names the source. */
const folders = ['src', 'demo', 'client/src', 'console/dist', 'deploy/nso', 'deploy/prometheus', 'deploy/grafana'];
const files = ['LICENSE', 'CHANGELOG.md', 'gateway.example.yaml'];
const unused = /\.(?:test|test-support)\.ts$|\/fixtures(?:\/|$)|README\.md$|launcher\.cjs$/u;
/** Of dependencies. Type declarations, source maps, settings of their repositories and their own commands are for developers. */
const unusedOfDependencies = /\.(?:[cm]?ts|map|tsbuildinfo)$|(?:^|\/)\.[^/]+$|^bin(?:\/|\.mjs$|$)/u;

/** Copies the program, its dependencies and Node.js into `recipe.tree`. */
export async function makeProgramTree(recipe: Recipe): Promise<void> {
  const { root, tree } = recipe;
  await mkdir(tree, { recursive: true });
  for (const folder of folders)
    await cp(join(root, folder), join(tree, folder), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (from) => !unused.test(from),
    });
  for (const file of files) await copyFile(join(root, file), join(tree, file));
  await writePackageFile(recipe);
  await copyDependencies(recipe);
  await copyNode(recipe);
  await mkdir(join(tree, 'bin'));
  await copyFile(join(root, 'deploy', 'archive', program), join(tree, 'bin', program));
  await chmod(join(tree, 'bin', program), 0o755);
}

/** Without what only a checkout needs. */
async function writePackageFile({ root, tree }: Recipe): Promise<void> {
  const {
    scripts: _scripts,
    devDependencies: _development,
    allowScripts: _allowed,
    ...kept
  } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Readonly<Record<string, unknown>>;
  await writeFile(join(tree, 'package.json'), `${JSON.stringify(kept, undefined, 2)}\n`);
}

/** The folders of the packages that the program needs, relative to the checkout. */
export async function dependencies({ root }: Pick<Recipe, 'root'>): Promise<readonly string[]> {
  const listed = await output('npm', ['ls', '--omit=dev', '--all', '--parseable'], { cwd: root });
  const found = listed
    .trim()
    .split('\n')
    .map((folder) => relative(root, folder))
    // Node.js itself is copied apart.
    .filter((folder) => folder !== '' && !folder.startsWith('node_modules/node/'));
  return [...new Set(found)].toSorted();
}

async function copyDependencies(recipe: Recipe): Promise<void> {
  const { root, tree } = recipe;
  for (const folder of await dependencies(recipe))
    await cp(join(root, folder), join(tree, folder), {
      recursive: true,
      // A package within another one is in the list itself.
      filter: (from) => {
        const name = relative(join(root, folder), from);
        return !unusedOfDependencies.test(name) && !name.startsWith('node_modules');
      },
    });
}

/** Node.js without its table of symbols: a quarter of its size. With its licence, and that of libatomic, which a minimal Debian lacks. */
async function copyNode({ root, tree }: Recipe): Promise<void> {
  const node = join(tree, 'lib', 'node');
  await mkdir(dirname(node), { recursive: true });
  await copyFile(join(root, 'node_modules', 'node', 'bin', 'node'), node);
  if (isInstalled('strip')) await output('strip', [node]);
  await copyFile(await nodeLicence(root), join(tree, 'lib', 'LICENSE.node'));
  const libatomic = (await output('ldd', [node])).match(/libatomic\.so\.1 => (\S+)/u)?.[1];
  if (libatomic === undefined) return;
  await copyFile(libatomic, join(tree, 'lib', 'libatomic.so.1'));
  await writeFile(join(tree, 'lib', 'LICENSE.libatomic'), libatomicLicence);
}

async function nodeLicence(root: string): Promise<string> {
  const folders = await output('find', [join(root, 'node_modules'), '-path', '*/node-linux-*/LICENSE']);
  const [first] = folders.trim().split('\n');
  if (first === undefined || first === '') throw new Error('the licence of Node.js is not in node_modules: run npm ci');
  return first;
}

const libatomicLicence = `libatomic.so.1 is a part of the GNU Compiler Collection, Copyright (C) Free Software Foundation, Inc. Its licence is the
GNU General Public License, version 3 or later, with the GCC Runtime Library Exception, version 3.1, which lets programs
of any licence use it. Its source is the package gcc of Debian: https://sources.debian.org/src/gcc-12/
`;
