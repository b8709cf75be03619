// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { noChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';

// The console is usable within a second. These tests hold what decides that, without a clock: round trips, bytes and work.

const workflow = `
document: { dsl: '1.0.3', namespace: load, name: first, version: '1.0.0' }
do:
  - first: { set: { number: 1 } }
`;

describe('the first load of the console', { skip: noChromium }, () => {
  let stage: ConsoleStage;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
    await addAutomation(stage.admin, workflow, { name: 'The first', data: {} });
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  /** A page of a browser that has a session, and nothing of the console in its cache. */
  async function newPage(): Promise<{ readonly page: Page; readonly devtools: CDPSession; readonly address: string }> {
    const first = await stage.open('/api', { role: 'admin' });
    const page = await first.context().newPage();
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Network.clearBrowserCache');
    return { page, devtools, address: first.url().replace('/api', '/automations') };
  }

  async function openList({ page, address }: { readonly page: Page; readonly address: string }): Promise<void> {
    await page.goto(address);
    await shows(page, /The first/u);
  }

  test('waits four times before it shows a list: for the page, for program and style, for the caller, for the list', async () => {
    const { page, address } = await newPage();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const html = await (await page.request.get(address)).text();
    const named = [...html.matchAll(/"(\/console\/assets\/[^"]+\.(?:js|css))"/gu)].map(([, path = '']) => path);
    // Parts that several pages share come at the same time as the program.
    assert.ok(named.length >= 2 && named.length <= 6, named.join());
    // The parts wait for each other here: a page that asked for one after the other would not load.
    const all = Promise.withResolvers<void>();
    const assets = new Set<string>();
    await page.route('**/console/assets/**', async (route) => {
      assets.add(route.request().url());
      if (assets.size === named.length) all.resolve();
      await all.promise;
      await route.continue();
    });
    await openList({ page, address });
    const [document, ...others] = asked;
    assert.equal(document, '/console/automations');
    assert.deepEqual(others.slice(0, named.length).sort(), named.sort());
    assert.deepEqual(others.slice(named.length, named.length + 2), ['/whoami', '/automation_catalog/automations']);
    await page.context().close();
  });

  test('takes at most 70 kB with its headers, and the next load takes neither program nor style', async () => {
    const { page, devtools, address } = await newPage();
    await devtools.send('Network.enable');
    let bytes = 0;
    devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await openList({ page, address });
    assert.ok(bytes > 10_000 && bytes <= 70_000, `${bytes} bytes`);
    bytes = 0;
    await openList({ page, address });
    assert.ok(bytes > 0 && bytes <= 5_000, `${bytes} bytes the second time`);
    await page.context().close();
  });

  test('has no script that holds up the page, and calls few functions before it shows a list', async () => {
    const { page, devtools, address } = await newPage();
    await devtools.send('Profiler.enable');
    await devtools.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await openList({ page, address });
    const { result } = await devtools.send('Profiler.takePreciseCoverage');
    const scripts = await page.evaluate(() => [...document.scripts].map(({ type, innerHTML }) => [type, innerHTML]));
    assert.deepEqual(scripts, [['module', '']]);
    const own = result.filter(({ url }) => url.includes('/console/assets/'));
    const calls = own.flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0));
    const count = calls.reduce((sum, one) => sum + one, 0);
    assert.ok(count > 0 && count <= 10_000, `${count} calls`);
    await page.context().close();
  });
});
