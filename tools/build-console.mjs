/**
 * Builds the console into console/dist: npm run build:console. The script `prepare` runs it, so that `npm ci` does. It is no TypeScript, so
 * that an older Node.js without the development dependencies can say why there is no console.
 */
import { fileURLToPath } from 'node:url';

/** Where npm runs on an older Node.js than the gateway, one line says which of the two runs what. This script has that of the gateway already. */
function sayWhatRuns() {
  const [, version, major] = /node\/(v(\d+)\S*)/u.exec(process.env['npm_config_user_agent'] ?? '') ?? [];
  if (version === undefined || Number(major) >= 26) return;
  console.log(
    `npm runs on Node.js ${version}, which is enough to install. The gateway runs on node_modules/.bin/node (${process.version}).`,
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
