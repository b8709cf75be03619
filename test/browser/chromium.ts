import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import type { Owner } from '../support/owner.ts';

const known = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** The file of a Chromium: the variable CHROMIUM, or where the packages of distributions have it. */
const chromiumFile = process.env['CHROMIUM'] ?? known.find((file) => existsSync(file));

/** Why a test that needs a browser cannot run; false where it can, and under CI=true, where it must. */
export const noChromium: string | false =
  chromiumFile === undefined && process.env['CI'] !== 'true'
    ? 'Chromium is not installed: apt-get install chromium-headless-shell, or name it in CHROMIUM'
    : false;

/** A Chromium without a window, closed with its owner. */
export async function startChromium(owner: Owner): Promise<Browser> {
  if (chromiumFile === undefined) throw new Error('there is no Chromium: apt-get install chromium-headless-shell');
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath: chromiumFile,
    // Chromium's sandbox does not start as root.
    args: isRoot ? ['--no-sandbox'] : [],
  });
  owner.after(() => browser.close());
  return browser;
}
