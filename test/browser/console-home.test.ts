// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { until } from '../support/until.ts';
import { axeFindings } from './axe.ts';
import { noChromium, startChromium } from './chromium.ts';
import { shows } from './console-stage.ts';
import { type DemoStage, demoStage } from './demo-stage.ts';
import { openPage } from './open-page.ts';
import { plantHistory } from './planted-history.ts';

// What Home says, and how its charts and its range of time work (docs/guides/console.md).

describe('home', { skip: noChromium }, () => {
  let stage: DemoStage;
  let browser: Browser;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    stage = await demoStage(owner);
    browser = await startChromium(owner);
    await stage.run('Bring up a VPN', { vpn: 'acme', devices: ['ce6'] });
    await stage.suspended();
    await stage.renaming('ce0', 'oslo-edge-1');
    await stage.skipped('Weekly check-sync');
    plantHistory(stage.gateway.directory, stage.automations);
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  const open = (path: string, role: 'admin' | 'other' | 'readonly') => openPage(browser, stage.gateway.url, path, { role });

  test('says first what waits for the person, and leads to it', async () => {
    const page = await open('', 'admin');
    await shows(page, /Waiting for you[\s\S]*Open a ticket\s+Decide about a call whose outcome is unknown/u);
    await shows(page, /Weekly check-sync\s+It did not run \(workflow-missing\)[\s\S]*Branch NSO\s+The adapter is offline/u);
    await shows(page, /Rename a device: PUT restconf[\s\S]*Another person decides about it\s+expires in/u);
    assert.deepEqual(await axeFindings(page), []);
    await page.getByRole('link', { name: 'Open a ticket' }).first().click();
    await shows(page, /It is unknown whether this call happened/u);
    await page.context().close();
  });

  test('names an automation whose run failed until a run completes, and one that is paused', async () => {
    const path = { id: stage.automations.get('Nightly check-sync') ?? '' };
    await stage.admin.patchAutomation({ path, body: { data: { cron: '0 5 * * *' } } });
    await stage.admin.patchAutomation({ path, body: { nextRunAt: null } });
    await stage.run('Bring up a VPN', { vpn: 'beta', devices: ['no-such-device'] });
    const page = await open('', 'readonly');
    await shows(page, /Bring up a VPN\s+It failed \(\w+\): [\s\S]*Nightly check-sync\s+Paused: nothing is due/u);
    assert.deepEqual(await axeFindings(page), []);
    await stage.run('Bring up a VPN', { vpn: 'gamma', devices: ['ce6'] });
    await until('it is gone', async () => !/It failed/u.test(await page.locator('main').innerText()));
    await stage.admin.patchAutomation({ path, body: { nextRunAt: 'next' } });
    await until('it is resumed', async () => !/Paused/u.test(await page.locator('main').innerText()));
    await page.context().close();
  });

  test('shows what the role may see alone: readers have no adapters', async () => {
    const page = await open('', 'readonly');
    await shows(page, /Runs by outcome[\s\S]*Calls by outcome[\s\S]*Next due/u);
    assert.doesNotMatch(await page.locator('main').innerText(), /Branch NSO|Calls by adapter/u);
    await page.context().close();
    const other = await open('', 'other');
    await shows(other, /Runs by outcome/u);
    assert.doesNotMatch(await other.locator('main').innerText(), /Calls by outcome/u);
    await other.context().close();
  });

  test('has the numbers of each chart in a table, as the gateway counts them', async () => {
    const page = await open('', 'admin');
    const chart = page.getByRole('figure', { name: 'Runs that ended, by outcome' });
    const summary = chart.locator('summary');
    await summary.focus();
    await page.keyboard.press('Enter');
    const rows = await chart.locator('tbody tr').allInnerTexts();
    const shown = rows.map((row) => Number(row.split('\t')[1]));
    const { list } = (await stage.admin.readRunStatistics({ query: { step: '1h' } })).value;
    assert.deepEqual(
      shown.slice(-20),
      list.slice(-20).map(({ counts }) => counts.completed ?? 0),
    );
    assert.ok(shown.some((count) => count > 0));
    assert.deepEqual(await axeFindings(page), []);
    await chart.locator('tbody a').last().click();
    await page.waitForURL(/\/runs\?since=/u);
    await page.context().close();
  });

  test('the range of time is in the address, is chosen by keyboard, and other pages keep it', async () => {
    const page = await open('', 'admin');
    const picker = page.locator('.range > summary');
    await picker.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Last 7 days' }).waitFor();
    assert.deepEqual(await axeFindings(page), []);
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('button', { name: 'Last 7 days' }).isVisible(), false);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Last 7 days' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\?range=7d$/u);
    assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), 'Last 7 days');
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Runs' });
    assert.match((await link.getAttribute('href')) ?? '', /\/runs\?range=7d$/u);
    await picker.click();
    await page.getByLabel('From', { exact: true }).fill('2026-03-01T10:00');
    await page.getByLabel('To', { exact: true }).fill('2026-03-02T10:00');
    await page.getByRole('button', { name: 'Show this range' }).click();
    await page.waitForURL(/since=2026-03-01T10%3A00%3A00\.000Z&until=2026-03-02T10%3A00%3A00\.000Z$/u);
    await until('the times of the range', async () => /from 2026-03-01 10:00:00 until/u.test(await picker.innerText()));
    await page.goBack();
    await until('the range before', async () => /Last 7 days/u.test(await picker.innerText()));
    await page.context().close();
  });
});
