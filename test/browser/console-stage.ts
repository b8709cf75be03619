import type { Page } from 'playwright-core';
import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { type Gateway, startGateway, testPassword } from '../support/gateway/start-gateway.ts';
import type { Owner } from '../support/owner.ts';
import { until } from '../support/until.ts';
import { type Upstream, upstream } from '../support/upstreams/upstream.ts';
import { startChromium } from './chromium.ts';
import { type Cuttable, cuttable } from './cuttable.ts';
import { type OpenOptions, openPage } from './open-page.ts';

/** A gateway behind a connection that can be cut, an upstream, and a browser. */
export interface ConsoleStage extends Pick<Cuttable, 'cut' | 'mend'> {
  readonly gateway: Gateway;
  readonly far: Upstream;
  /** By the connection that can be cut. */
  readonly admin: Client;
  /** Opens a page by the connection that can be cut. */
  open(path: string, options?: OpenOptions): Promise<Page>;
}

/** Calls of `core/**` wait for the role engineering. */
export async function consoleStage(owner: Owner, options: Parameters<typeof startGateway>[1] = {}): Promise<ConsoleStage> {
  const far = await upstream(owner);
  const gateway = await startGateway(owner, {
    ...options,
    adapters: [
      { name: 'Local NSO', kind: 'rest', url: far.url, auth: { type: 'none' } },
      { name: 'Away', kind: 'rest', url: 'http://127.0.0.1:9', auth: { type: 'none' } },
      ...(options.adapters ?? []),
    ],
    config: {
      approvals: [{ name: 'core', when: { routes: ['restAction'], paths: ['core/**'] }, approvers: { roles: ['engineering'] } }],
      ...options.config,
    },
  });
  const { url, ...connection } = await cuttable(owner, gateway.port);
  const browser = await startChromium(owner);
  const admin = createGateway({ baseUrl: url, username: 'admin-user', password: testPassword });
  return { gateway, far, admin, ...connection, open: (path, opening) => openPage(browser, url, path, opening) };
}

/** Stores a workflow, and an automation of it with these names: its `_id`. */
export async function addAutomation(admin: Client, workflow: string, body: { name: string; data: object }): Promise<string> {
  const { id } = (await admin.createWorkflow({ rawBody: workflow, contentType: 'application/yaml' })).value;
  return (await admin.createAutomation({ body: { ...body, data: { ...body.data, workflowId: id } } })).value._id;
}

/** Waits until the page has that text. */
export async function shows(page: Page, wanted: RegExp): Promise<void> {
  await until(String(wanted), async () => wanted.test(await page.locator('main').innerText()));
}
