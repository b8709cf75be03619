// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { lapse } from '../support/lapse.ts';
import { until } from '../support/until.ts';
import { jsonReply } from '../support/upstreams/upstream.ts';
import { noChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';
import { openTab } from './open-page.ts';

// Pages that follow what happens: connections that break, a gateway that restarts, many tabs, a computer that slept.

/** `core/**` waits for an approval, so the run does nothing until there is one. */
const waiting = `
document: { dsl: '1.0.3', namespace: live, name: waiting, version: '1.0.0' }
do:
  - first: { set: { number: 1 } }
  - push: { call: orchestratorAction, with: { adapter: Local NSO, params: { path: core/a, accept: application/json }, body: {} } }
  - last: { set: { number: 18446744073709551615 } }
`;

describe('a page of the console that is live', { skip: noChromium }, () => {
  let stage: ConsoleStage;
  let automation: string;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
    automation = await addAutomation(stage.admin, waiting, { name: 'Waiting', data: {} });
    stage.far.answer(() => jsonReply('{}'));
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  /** A run that waits, and a page that shows it. */
  async function openRun(): Promise<{ readonly page: Page; readonly run: string }> {
    const run = (await stage.admin.runAutomation({ path: { id: automation }, body: {} })).value.id;
    const page = await stage.open(`/runs/${run}`, { role: 'readonly' });
    await shows(page, /…\s*waiting[\s\S]*push/u);
    await page.locator('.sign.live').waitFor();
    return { page, run };
  }

  /** Lets the run go on, past the connection that is cut. */
  async function grant(run: string, port = stage.gateway.port): Promise<void> {
    const at = `http://127.0.0.1:${port}/approvals`;
    const headers = { Authorization: stage.gateway.basicFor('engineering'), 'Content-Type': 'application/json' };
    const list = await fetch(`${at}?run=${run}&status=waiting`, { headers });
    const { list: found } = (await list.json()) as { readonly list: readonly { readonly id: string }[] };
    const granted = await fetch(`${at}/${found[0]?.id}/grant`, { method: 'POST', headers, body: '{"reason":"read it"}' });
    assert.equal(granted.status, 200);
  }

  /** Past the connection that is cut. */
  async function stateOf(run: string): Promise<unknown> {
    const headers = { Authorization: stage.gateway.basicFor('readonly') };
    const reply = await fetch(`http://127.0.0.1:${stage.gateway.port}/runs/${run}`, { headers });
    return ((await reply.json()) as { readonly status: string }).status;
  }

  async function liveOnes(pages: readonly Page[]): Promise<number> {
    const counts = await Promise.all(pages.map((one) => one.locator('.sign.live').count()));
    return counts.filter((count) => count === 1).length;
  }

  async function hasEnded(page: Page): Promise<void> {
    await shows(page, /✓\s*completed[\s\S]*18446744073709551615/u);
    assert.deepEqual(await page.locator('.task-name').allInnerTexts(), ['first', 'push', 'last']);
    await page.context().close();
  }

  test('says that its connection broke, and misses nothing', async () => {
    const { page, run } = await openRun();
    stage.cut();
    await page.getByText('The connection broke').waitFor();
    await grant(run);
    stage.mend();
    await hasEnded(page);
  });

  test('catches up after the computer was without a network', async () => {
    const { page, run } = await openRun();
    await page.context().setOffline(true);
    stage.cut();
    stage.mend();
    await page.getByText('The connection broke').waitFor();
    await grant(run);
    await page.context().setOffline(false);
    await hasEnded(page);
  });

  for (const [connection, cut] of [
    ['broke meanwhile', () => stage.cut()],
    ['lasted', () => {}],
  ] as const) {
    test(`catches up after its computer slept, where the connection ${connection}`, async () => {
      const { page, run } = await openRun();
      const wake = await putToSleep(page);
      try {
        cut();
        await grant(run);
        await until('the run has ended', async () => (await stateOf(run)) === 'completed');
        stage.mend();
      } finally {
        wake();
      }
      await hasEnded(page);
    });
  }

  test('takes up its run by itself after the gateway restarted', async () => {
    const { page, run } = await openRun();
    stage.cut();
    const next = await stage.gateway.restart();
    stage.mend(next.port);
    stage = { ...stage, gateway: next };
    await page.locator('.sign.live').waitFor();
    await grant(run, next.port);
    await hasEnded(page);
  });

  test('has no stream in a hidden tab, so that eight tabs of one browser all work', async () => {
    const { page, run } = await openRun();
    const tabs = [page];
    while (tabs.length < 8) {
      await setVisibility(tabs.at(-1), 'hidden');
      const tab = await openTab(page.context(), page.url());
      await tab.locator('.sign.live').waitFor();
      tabs.push(tab);
    }
    await grant(run);
    await shows(tabs[7] ?? page, /✓\s*completed/u);
    assert.match(await page.locator('main').innerText(), /…\s*waiting/u);
    await setVisibility(page, 'visible');
    await hasEnded(page);
  });

  test('works in each of eight windows that are visible at the same time', async () => {
    const { page, run } = await openRun();
    const windows = [page];
    while (windows.length < 8) {
      const next = await openTab(page.context(), page.url());
      await shows(next, /…\s*waiting/u);
      windows.push(next);
    }
    await shows(page, /Asks every few seconds/u);
    await until('four have a stream', async () => (await liveOnes(windows)) === 4);
    await windows.pop()?.close();
    await until('four have a stream again', async () => (await liveOnes(windows)) === 4);
    await grant(run);
    for (const each of windows) await shows(each, /✓\s*completed[\s\S]*last/u);
    // The oldest window has no stream, and asked every five seconds. It may get the place of another one, and ask a last time.
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await lapse(11_000, 'the page would ask every five seconds');
    assert.equal(new Set(asked).size, asked.length, asked.join());
    await hasEnded(page);
  });

  test('is followed in two tabs at the same time', async () => {
    const { page, run } = await openRun();
    const other = await openTab(page.context(), page.url());
    await other.locator('.sign.live').waitFor();
    await grant(run);
    await shows(other, /✓\s*completed[\s\S]*last/u);
    await hasEnded(page);
  });

  test('leads to the login where its session ended in a hidden tab, and back', async () => {
    const { page, run } = await openRun();
    await setVisibility(page, 'hidden');
    await page.context().clearCookies();
    await grant(run);
    await setVisibility(page, 'visible');
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('User name').fill('admin-user');
    await page.getByLabel('Password').fill(testPassword);
    await page.keyboard.press('Enter');
    await shows(page, /✓\s*completed/u);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('form', { name: 'Log in' }).waitFor();
    await page.context().close();
  });

  test('shows an answer that comes later than the next events, and asks again for all of them', async () => {
    const page = await stage.open('/automations', { role: 'readonly' });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const asked: string[] = [];
    const dropped: string[] = [];
    const isList = (url: URL): boolean => url.pathname === '/runs';
    page.on('requestfailed', (request) => void (isList(new URL(request.url())) && dropped.push(request.url())));
    await page.route(isList, async (route) => {
      asked.push(route.request().url());
      await released;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.locator('.sign.live').waitFor();
    for (let event = 0; event < 2; event += 1) {
      await stage.admin.runAutomation({ path: { id: automation }, body: {} });
      await lapse(2_500, 'an event would drop the question before the answer');
    }
    assert.deepEqual([asked.length, dropped], [1, []]);
    release();
    await shows(page, /Waiting[\s\S]*live\.waiting/u);
    await until('the page asks again', () => asked.length === 2);
    assert.deepEqual(dropped, []);
    await page.context().close();
  });

  test('asks again once the gateway answers, where it did not at first', async () => {
    const page = await stage.open('/automations', { role: 'admin' });
    await shows(page, /Waiting/u);
    stage.cut();
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.locator('.failure').first().waitFor();
    stage.mend();
    await shows(page, /live\.waiting/u);
    await until('no failure is left', async () => (await page.locator('.failure').count()) === 0);
    await page.context().close();
  });
});

/** What a browser does to a tab that a person leaves or comes back to: Chromium without windows shows every tab. */
async function setVisibility(page: Page | undefined, state: 'hidden' | 'visible'): Promise<void> {
  await page?.evaluate((to) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => to });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);
}

/** Stops every process of the browser, as the sleep of a computer does: Chromium freezes no page that is visible. Answers what ends it. */
async function putToSleep(page: Page): Promise<() => void> {
  const devtools = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo = [] } = (await devtools?.send('SystemInfo.getProcessInfo')) ?? {};
  assert.ok(processInfo.some(({ type }) => type === 'renderer'));
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const { id } of processInfo) process.kill(id, name);
  };
  signal('SIGSTOP');
  return () => signal('SIGCONT');
}
