/**
 * Builds the console into console/dist: npm run build:console. The script `prepare` runs it, so that `npm ci` does. It is no TypeScript, so
 * that an older Node.js without the development dependencies can say why there is no console.
 */
import { fileURLToPath } from 'node:url';

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
