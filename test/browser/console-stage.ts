import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer, type Socket } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { type FarSide, farSide } from '../support/far-sides/far-side.ts';
import { type Gateway, startGateway, type TestRole, testPassword } from '../support/gateway/start-gateway.ts';
import { listening } from '../support/listen.ts';
import type { Owner } from '../support/owner.ts';
import { startChromium } from './chromium.ts';

/** A gateway with something in it, a far side, and a browser: shared by the tests of the console. */
export interface ConsoleStage {
  readonly gateway: Gateway;
  readonly far: FarSide;
  readonly admin: Client;
  /** A page of the console after the login of that role, at an address below `/console`. */
  open(path: string, options?: OpenOptions): Promise<Page>;
  /** Breaks every connection between the browser and the gateway, and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
}

interface OpenOptions {
  /** Absent: the page is that of a caller without a session. */
  readonly role?: TestRole | undefined;
  readonly dark?: boolean;
  /** Pixels. */
  readonly width?: number;
}

/** Markup in a name: it has to show as text, everywhere. */
export const hostile = `<img src=x onerror="document.title='owned'">`;

export async function consoleStage(owner: Owner): Promise<ConsoleStage> {
  const far = await farSide(owner);
  const gateway = await startGateway(owner, {
    adapters: [
      { name: 'Local NSO', kind: 'rest', url: far.url, auth: { type: 'none' } },
      { name: 'Away', kind: 'rest', url: 'http://127.0.0.1:9', auth: { type: 'none' } },
    ],
    config: {
      approvals: [{ name: 'core', when: { routes: ['restAction'], paths: ['core/**'] }, approvers: { roles: ['engineering'] } }],
    },
  });
  const proxy = await cuttable(owner, gateway.port);
  const browser = await startChromium(owner);
  const admin = createGateway({ baseUrl: gateway.url, username: 'admin-user', password: testPassword });
  return {
    gateway,
    far,
    admin,
    ...proxy,
    open: async (path, options = {}) =>
      await opened(await newContext(browser, options), `http://127.0.0.1:${proxy.port}`, path, options),
  };
}

function newContext(browser: Browser, { dark = false, width = 1280 }: OpenOptions): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
    locale: 'en',
    timezoneId: 'UTC',
  });
}

async function opened(context: BrowserContext, origin: string, path: string, { role }: OpenOptions): Promise<Page> {
  if (role !== undefined) {
    const login = await context.request.post(`${origin}/login`, {
      data: { username: `${role}-user`, password: testPassword },
      headers: { Origin: origin },
    });
    if (!login.ok()) throw new Error(await login.text());
  }
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${origin}/console${path}`);
  await page.locator('h1').waitFor();
  return page;
}

async function cuttable(
  owner: Owner,
  to: number,
): Promise<{ readonly port: number; readonly cut: () => void; readonly mend: () => void }> {
  const open = new Set<Socket>();
  let isCut = false;
  const proxy = createServer((caller) => {
    if (isCut) {
      caller.on('error', () => {}).resetAndDestroy();
      return;
    }
    const beyond = connect(to, '127.0.0.1').on('error', () => {});
    open.add(caller);
    caller.on('error', () => {}).on('close', () => open.delete(caller) && beyond.destroy());
    caller.pipe(beyond).pipe(caller);
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.resetAndDestroy();
  };
  const port = await listening(proxy);
  owner.after(() => {
    cut();
    proxy.close();
  });
  const mend = (): void => {
    isCut = false;
  };
  return { port, cut, mend };
}

interface Axe {
  run(context: Document, options: object): Promise<AxeResults>;
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on a page, by these rules; absent: by those of WCAG 2.2 AA and of good practice. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  await page.evaluate(axe);
  const options = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } };
  const { violations } = await page.evaluate(
    async (given) => await (globalThis as unknown as { readonly axe: Axe }).axe.run(document, given),
    options,
  );
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
}
