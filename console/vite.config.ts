import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';

/** The build of the console: programs and stylesheets, without anything that the Content-Security-Policy forbids. */
const config: UserConfig = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    emptyOutDir: true,
    rolldownOptions: {
      output: {
        // One file for what pages share: the first load asks for few files.
        codeSplitting: {
          groups: [{ name: 'shared', minShareCount: 2, test: /\/(?:client\/src|console\/src|preact|signals)/u }],
        },
      },
    },
  },
};

export default config;
