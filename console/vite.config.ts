import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';

/** The build of the console: one program and one stylesheet, without anything that the Content-Security-Policy forbids. */
const config: UserConfig = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    emptyOutDir: true,
  },
};

export default config;
