/** Takes the pictures of docs/console/ from a gateway with the demo in it: npm run pictures. It needs a Chromium. */
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BrowserContext } from 'playwright-core';
import { testPassword } from '../support/gateway/start-gateway.ts';
import type { Owner } from '../support/owner.ts';
import { startChromium } from './chromium.ts';
import { demoStage } from './demo-stage.ts';
import { openParts } from './parts-page.ts';

const folder = fileURLToPath(new URL('../../docs/console/', import.meta.url));
await using closing = new AsyncDisposableStack();
const owner: Owner = {
  after(close) {
    closing.defer(async () => close());
  },
};

const { gateway, automations, ...stage } = await demoStage(owner);
const automation = automations.get('Bring up a VPN') ?? '';
await stage.run('Bring up a VPN', { vpn: 'beta', devices: ['no-such-device'] });
await stage.run('Nightly check-sync');
const run = await stage.run('Bring up a VPN', { vpn: 'acme', devices: ['ce6', 'ce22', 'pe2'] });
const suspended = await stage.suspended();
const approval = await stage.renaming('ce0', 'oslo-edge-1');
const browser = await startChromium(owner);
type Session = Awaited<ReturnType<BrowserContext['storageState']>>;
const sessions = new Map<string, Session>();
await mkdir(folder, { recursive: true });
for (const [name, path] of [
  ['overview', ''],
  ['automations', '/automations'],
  ['automation', `/automations/${automation}`],
  ['run', `/runs/${run}`],
  ['workflow', '/workflows/demo.bring-up-vpn'],
  ['adapters', '/adapters'],
  ['explorer', '/explorer?kind=restRequest'],
  ['audit', '/audit'],
  ['access', '/access'],
  ['api', '/api'],
] as const) {
  await picture({ name, path });
}
await picture({ name: 'approval', path: `/approvals/${approval}`, as: 'lea' });
await picture({ name: 'run-suspended', path: `/runs/${suspended}` });
await picture({ name: 'overview-dark', path: '', dark: true });
await picture({ name: 'run-narrow', path: `/runs/${run}`, width: 360 });

for (const [name, colorScheme] of [
  ['parts', 'light'],
  ['parts-dark', 'dark'],
] as const) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme, timezoneId: 'UTC' });
  await page.goto(`${gateway.url}/console`);
  await openParts(page);
  // Rows out of sight are not drawn.
  await page.setViewportSize({ width: 1200, height: await page.evaluate(() => document.documentElement.scrollHeight) });
  await page.screenshot({ path: `${folder}${name}.png` });
  await page.close();
}

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly as?: string;
  readonly dark?: boolean;
  readonly width?: number;
}

async function picture({ name, path, as = 'admin-user', dark = false, width = 1200 }: Picture): Promise<void> {
  const look = { viewport: { width, height: 760 }, colorScheme: dark ? 'dark' : 'light', timezoneId: 'UTC' } as const;
  const context = await browser.newContext({ ...look, storageState: await sessionOf(as) });
  const page = await context.newPage();
  await page.goto(`${gateway.url}/console${path}`);
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => document.querySelector('.loading') === null && !document.body.innerText.includes('Checking…'));
  // The check of a document and the stream of events come a moment later.
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: `${folder}${name}.png` });
  await context.close();
}

/** One login for each user, so that the audit log has more to show. */
async function sessionOf(user: string): Promise<Session> {
  const known = sessions.get(user);
  if (known !== undefined) return known;
  const context = await browser.newContext();
  const login = { username: user, password: testPassword };
  await context.request.post(`${gateway.url}/login`, { data: login, headers: { Origin: gateway.url } });
  const session = await context.storageState();
  await context.close();
  sessions.set(user, session);
  return session;
}
