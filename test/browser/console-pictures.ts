/**
 * Takes the pictures of docs/console/ from a gateway with the demo in it: npm run pictures. It needs a Chromium. Names behind it, such as
 * `npm run pictures -- workflow`, take those alone that begin so.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BrowserContext } from 'playwright-core';
import { testPassword } from '../support/gateway/start-gateway.ts';
import type { Owner } from '../support/owner.ts';
import { startChromium } from './chromium.ts';
import { demoStage } from './demo-stage.ts';
import { openParts } from './parts-page.ts';
import { plantHistory } from './planted-history.ts';

const folder = fileURLToPath(new URL('../../docs/console/', import.meta.url));
await using closing = new AsyncDisposableStack();
const owner: Owner = {
  after(close) {
    closing.defer(async () => close());
  },
};

const { gateway, automations, ...stage } = await demoStage(owner);
const next = (await readFile(new URL('../../demo/workflows/bring-up-vpn.yaml', import.meta.url), 'utf8'))
  .replace('version: 1.0.0', 'version: 1.1.0')
  .replace('maxItems: 20', 'maxItems: 50');
await stage.admin.createWorkflow({ rawBody: next, contentType: 'application/yaml' });
const automation = automations.get('Bring up a VPN') ?? '';
await stage.run('Bring up a VPN', { vpn: 'beta', devices: ['no-such-device'] });
await stage.run('Nightly check-sync');
const run = await stage.run('Bring up a VPN', { vpn: 'acme', devices: ['ce6', 'ce22', 'pe2'] });
const suspended = await stage.suspended();
const approval = await stage.renaming('ce0', 'oslo-edge-1');
await stage.skipped('Weekly check-sync');
await stage.admin.patchAutomation({
  path: { id: automation },
  body: { data: { input: { vpn: 'acme', devices: ['ce6', 'ce22', 'pe2'] } } },
});
await stage.admin.patchAutomation({
  path: { id: automation },
  body: { data: { cron: '30 2 * * 1-5', timeZone: 'Europe/Berlin' } },
});
await stage.admin.patchAutomation({
  path: { id: automation },
  body: { data: { input: { devices: ['ce6', 'ce22', 'pe2', 'pe3'] } } },
});
plantHistory(gateway.directory, automations);
const browser = await startChromium(owner);
type Session = Awaited<ReturnType<BrowserContext['storageState']>>;
const sessions = new Map<string, Session>();
await mkdir(folder, { recursive: true });
for (const [name, path] of [
  ['automations', '/automations'],
  ['automation', `/automations/${automation}`],
  ['run', `/runs/${run}`],
  ['runs', '/runs?range=24h'],
  ['workflow', '/workflows/demo.bring-up-vpn'],
  ['adapters', '/adapters'],
  ['explorer', '/explorer?kind=restRequest'],
  ['audit', '/audit'],
  ['access', '/access'],
  ['api', '/api'],
] as const) {
  await picture({ name, path });
}
await picture({ name: 'undecided-narrow-dark', path: '/runs?view=undecided', width: 360, dark: true });
await picture({ name: 'home', path: '', height: 1_100 });
await picture({ name: 'home-dark', path: '', height: 1_100, dark: true });
await picture({ name: 'home-narrow', path: '', width: 360 });
await picture({ name: 'automation-edit', path: `/automations/${automation}?view=edit`, height: 1_000 });
await picture({ name: 'automation-edit-dark', path: `/automations/${automation}?view=edit`, height: 1_000, dark: true });
await picture({ name: 'automation-edit-narrow', path: `/automations/${automation}?view=edit`, width: 360 });
await picture({ name: 'automation-history', path: `/automations/${automation}?view=history` });
await picture({ name: 'automations-narrow-dark', path: '/automations', width: 360, dark: true });
await picture({ name: 'adapter', path: '/adapters/Local%20NSO' });
await picture({ name: 'workflow-edit', path: '/workflows/demo.bring-up-vpn?view=edit', height: 1_000 });
await picture({ name: 'workflow-edit-dark', path: '/workflows/demo.bring-up-vpn?view=edit', height: 1_000, dark: true });
await picture({ name: 'workflow-versions', path: '/workflows/demo.bring-up-vpn?view=versions' });
await picture({ name: 'workflow-narrow', path: '/workflows/demo.bring-up-vpn', width: 360 });
await picture({ name: 'find', path: '/automations', find: 'sync' });
await picture({ name: 'approval', path: `/approvals/${approval}`, as: 'lea' });
await picture({ name: 'run-suspended', path: `/runs/${suspended}` });
await picture({ name: 'run-narrow', path: `/runs/${run}`, width: 360 });

for (const [name, colorScheme] of [
  ['parts', 'light'],
  ['parts-dark', 'dark'],
] as const) {
  if (!isWanted(name)) continue;
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme, timezoneId: 'UTC' });
  await page.goto(`${gateway.url}/console`);
  await openParts(page);
  // Rows out of sight are not drawn.
  await page.setViewportSize({ width: 1200, height: await page.evaluate(() => document.documentElement.scrollHeight) });
  await page.screenshot({ path: `${folder}${name}.png` });
  await page.close();
}

/** Whether the command names the picture, or none at all. */
function isWanted(name: string): boolean {
  const given = process.argv.slice(2);
  return given.length === 0 || given.some((begin) => name.startsWith(begin));
}

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly as?: string;
  readonly dark?: boolean;
  readonly width?: number;
  readonly height?: number;
  /** Typed into the palette. */
  readonly find?: string;
}

async function picture({
  name,
  path,
  as = 'admin-user',
  dark = false,
  width = 1200,
  height = 760,
  find,
}: Picture): Promise<void> {
  if (!isWanted(name)) return;
  const look = { viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', timezoneId: 'UTC' } as const;
  const context = await browser.newContext({ ...look, storageState: await sessionOf(as) });
  const page = await context.newPage();
  await page.goto(`${gateway.url}/console${path}`);
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => document.querySelector('.loading') === null && !document.body.innerText.includes('Checking…'));
  // The check of a document and the stream of events come a moment later.
  await page.waitForTimeout(1_000);
  if (find !== undefined) {
    await page.keyboard.press('Control+k');
    await page.keyboard.type(find);
    await page.getByText('↑ ↓ to choose').waitFor();
  }
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
