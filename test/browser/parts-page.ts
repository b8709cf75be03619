import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { build } from 'vite';

const root = new URL('../../console/', import.meta.url);

/**
 * Opens the page of all parts of the console (`console/src/all-parts.tsx`) in place of an address of the gateway. It is built in memory, so
 * that no gateway serves it.
 */
export async function openParts(page: Page): Promise<void> {
  const built = await build({
    configFile: fileURLToPath(new URL('vite.config.ts', root)),
    build: { write: false, rolldownOptions: { input: fileURLToPath(new URL('parts.html', root)) } },
  });
  const files = new Map<string, string | Uint8Array>();
  for (const part of Array.isArray(built) ? built : [built]) {
    if (!('output' in part)) continue;
    for (const file of part.output) files.set(file.fileName, file.type === 'chunk' ? file.code : file.source);
  }
  await page.route('**/parts/**', async (route) => {
    const name = new URL(route.request().url()).pathname.slice('/parts/'.length);
    const type = { html: 'text/html', js: 'text/javascript', css: 'text/css' }[name.split('.').at(-1) ?? ''];
    await route.fulfill({ contentType: `${type}; charset=utf-8`, body: Buffer.from(files.get(name) ?? '') });
  });
  await page.goto(new URL('/parts/parts.html', page.url()).href);
  await page.locator('main h1').waitFor();
}
