/** Takes the pictures of docs/console/ from a gateway with the demo in it: npm run pictures. It needs a Chromium. */
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { readDemoAutomations } from '../../demo/demo-automations.ts';
import { startDemoOrchestrator } from '../../demo/demo-orchestrator.ts';
import { type Gateway, startGateway, testPassword } from '../support/gateway/start-gateway.ts';
import type { Owner } from '../support/owner.ts';
import { until } from '../support/until.ts';
import { startChromium } from './chromium.ts';

const folder = fileURLToPath(new URL('../../docs/console/', import.meta.url));
await using closing = new AsyncDisposableStack();
const owner: Owner = {
  after(close) {
    closing.defer(async () => close());
  },
};

const gateway = await startStage();
const admin = createGateway({ baseUrl: gateway.url, username: 'admin-user', password: testPassword });
const { automation, run, approval } = await fill(admin);
const browser = await startChromium(owner);
await mkdir(folder, { recursive: true });
for (const [name, path] of [
  ['overview', ''],
  ['automations', '/automations'],
  ['automation', `/automations/${automation}`],
  ['run', `/runs/${run}`],
  ['workflow', '/workflows/demo.bring-up-vpn'],
  ['approval', `/approvals/${approval}`],
  ['adapters', '/adapters'],
  ['explorer', '/explorer?kind=restRequest'],
  ['audit', '/audit'],
  ['access', '/access'],
  ['api', '/api'],
] as const) {
  await picture(browser, { name, path });
}
await picture(browser, { name: 'overview-dark', path: '', dark: true });
await picture(browser, { name: 'run-narrow', path: `/runs/${run}`, width: 360 });

async function startStage(): Promise<Gateway> {
  const orchestrator = await startDemoOrchestrator();
  closing.defer(() => orchestrator.close());
  const auth = { type: 'basic', username: 'admin', password: { env: 'ORCHESTRATOR_PASSWORD' } };
  return await startGateway(owner, {
    adapters: [
      { name: 'Local NSO', kind: 'nso', url: orchestrator.url, auth },
      { name: 'Branch NSO', kind: 'nso', url: 'http://127.0.0.1:9', auth, health: { interval: '1s' } },
    ],
    config: {
      approvals: [
        {
          name: 'device-changes',
          when: { routes: ['restRequest'], adapters: ['Local NSO'], paths: ['restconf/data/tailf-ncs:devices/**'] },
          approvers: { roles: ['admin'] },
          selfApproval: true,
        },
      ],
    },
    environment: { ORCHESTRATOR_PASSWORD: 'admin' },
  });
}

async function fill(client: Client): Promise<Readonly<Record<'automation' | 'run' | 'approval', string>>> {
  const ids = new Map<string, string>();
  for (const { name, data, workflow } of await readDemoAutomations()) {
    await client.createWorkflow({ rawBody: workflow, contentType: 'application/yaml' });
    ids.set(name, (await client.createAutomation({ body: { name, data } })).value._id);
  }
  const automation = ids.get('Bring up a VPN') ?? '';
  const started = async (id: string, input: object): Promise<string> => {
    const run = (await client.runAutomation({ path: { id }, body: { input: { ...input } } })).value.id;
    await Array.fromAsync(client.followRun({ path: { id: run } }));
    return run;
  };
  await started(automation, { vpn: 'beta', devices: ['no-such-device'] });
  await started(ids.get('Nightly check-sync') ?? '', {});
  const run = await started(automation, { vpn: 'acme', devices: ['ce6', 'ce22', 'pe2'] });
  const rename = ids.get('Rename a device') ?? '';
  await client.runAutomation({ path: { id: rename }, body: { input: { device: 'ce0', hostname: 'edge-1' } } });
  let approval: string | undefined;
  await until('the approval', async () => {
    approval = (await client.listApprovals({ query: { status: 'waiting' } })).value.list[0]?.id;
    return approval !== undefined;
  });
  return { automation, run, approval: approval ?? '' };
}

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly dark?: boolean;
  readonly width?: number;
}

async function picture(of: Browser, { name, path, dark = false, width = 1200 }: Picture): Promise<void> {
  const context = await of.newContext({
    viewport: { width, height: 760 },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: 'UTC',
  });
  const login = { username: 'admin-user', password: testPassword };
  await context.request.post(`${gateway.url}/login`, { data: login, headers: { Origin: gateway.url } });
  const page = await context.newPage();
  await page.goto(`${gateway.url}/console${path}`);
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => document.querySelector('.loading') === null);
  // The check of a document and the stream of events come a moment later.
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: `${folder}${name}.png` });
  await context.close();
}
