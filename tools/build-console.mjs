/**
 * Builds the console into console/dist: npm run build:console. The script `prepare` runs it, so that `npm ci` does. It is no TypeScript, so
 * that an older Node.js without the development dependencies can say why there is no console.
 */
import { fileURLToPath } from 'node:url';

/** Where npm runs on an older Node.js than the gateway, one line says which of the two runs what. */
function sayWhatRuns() {
  const [major] = process.versions.node.split('.');
  if (Number(major) >= 26) return;
  const own = 'node_modules/.bin/node';
  console.log(
    `Node.js ${process.version} has installed the packages. The gateway needs Node.js 26 or later: run it with ${own}.`,
  );
}

if (process.env['npm_lifecycle_event'] === 'prepare') sayWhatRuns();
try {
  const { build } = await import('vite');
  await build({ configFile: fileURLToPath(new URL('../console/vite.config.ts', import.meta.url)) });
} catch (error) {
  const isInstall = process.env['npm_lifecycle_event'] === 'prepare';
  const reason = error.code === 'ERR_MODULE_NOT_FOUND' ? 'Vite is not installed' : error.message;
  console.error(`The console was not built: ${reason}.${isInstall ? ' The gateway starts without it.' : ''}`);
  // Without a console everything else works, so the install goes on.
  if (!isInstall) process.exitCode = 1;
}
