/** Builds the console into console/dist: npm run build:console. The script `prepare` runs it, so that `npm ci` does. */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

await build({ configFile: fileURLToPath(new URL('../console/vite.config.ts', import.meta.url)) });
