import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type TestRole, testPassword } from '../support/gateway/start-gateway.ts';

export interface OpenOptions {
  /** Absent: the page is that of a caller without a session. */
  readonly role?: TestRole | undefined;
  /** A user of the configuration with the password of tests, in place of `role`. */
  readonly user?: string | undefined;
  readonly dark?: boolean;
  /** Pixels. */
  readonly width?: number;
  readonly height?: number;
}

/** A page of the console in a context of its own, after the login of that role, at an address below `/console`. */
export async function openPage(browser: Browser, origin: string, path: string, options: OpenOptions = {}): Promise<Page> {
  const { role, user = role === undefined ? undefined : `${role}-user`, dark = false, width = 1280, height = 800 } = options;
  const context = await browser.newContext({
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: 'en',
    timezoneId: 'UTC',
  });
  // What browsers have over TLS and on localhost alone: people also open the console on plain HTTP.
  await context.addInitScript(() => {
    Reflect.deleteProperty(Crypto.prototype, 'randomUUID');
    Reflect.deleteProperty(Navigator.prototype, 'clipboard');
  });
  if (user !== undefined) await logIn(context, origin, user);
  return await openTab(context, `${origin}/console${path}`);
}

async function logIn(context: BrowserContext, origin: string, username: string): Promise<void> {
  const login = await context.request.post(`${origin}/login`, {
    data: { username, password: testPassword },
    headers: { Origin: origin },
  });
  if (!login.ok()) throw new Error(await login.text());
}

/** A further tab of the same browser. */
export async function openTab(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(address);
  await page.locator('h1').waitFor();
  return page;
}
