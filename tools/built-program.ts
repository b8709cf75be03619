import { cp, glob, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What the tests need to run a gateway in their own process. */
const servingModules = ['src/serve.ts', 'src/config/load-config.ts'];

/**
 * Bundles the gateway into a directory of its own, and returns the path of its executable: for the tests, and for the npm package. A start reads some fifty files
 * in place of four thousand, which takes half of the processor time. The tests start it some 100 times.
 *
 * The directory has the shape of the repository: modules look next to themselves for package.json, the workflows of the demo and the
 * console.
 */
export async function builtProgram(directory = join(root, 'build')): Promise<string> {
  const program = join(directory, 'src', 'program');
  const workers = (await Array.fromAsync(glob('src/**/*-worker.ts', { cwd: root }))).toSorted();
  await rm(directory, { recursive: true, force: true });
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['jq-wasm', 'pg-native'] },
    build: {
      ssr: true,
      outDir: program,
      target: 'node26',
      rolldownOptions: {
        input: ['src/main.ts', ...servingModules, ...workers].map((file) => join(root, file)),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
    plugins: [
      {
        name: 'worker-names',
        renderChunk: (code: string) =>
          workers.reduce((text, file) => text.replaceAll(`./${basename(file)}`, `./${basename(file, '.ts')}.js`), code),
      },
    ],
  });
  await cp(join(root, 'demo', 'workflows'), join(program, 'workflows'), { recursive: true });
  await cp(join(root, 'package.json'), join(directory, 'package.json'));
  await symlink(join(root, 'console'), join(directory, 'console'));
  return join(program, 'main.js');
}
