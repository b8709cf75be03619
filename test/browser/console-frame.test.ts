// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { axeFindings } from './axe.ts';
import { noChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';
import { scrollsSideways } from './person.ts';

// What is around each page of the console: navigation, title, the way back, the palette, times and ranges.

const workflow = `
document: { dsl: '1.0.3', namespace: frame, name: first, version: '1.0.0', title: Check of a device }
do:
  - first: { set: { number: 1 } }
`;

/** More than a page of the listing has, and all before the first one by their ids. */
function manyWorkflows(): string {
  const lines = Array.from({ length: 1_001 }, (_, number) => {
    const document = { dsl: '1.0.3', namespace: 'bulk', name: `w${number}`, version: '1.0.0' };
    const text = JSON.stringify({ document, do: [{ first: { set: { number } } }] });
    return JSON.stringify({ kind: 'workflow', id: `bulk.w${number}`, version: '1.0.0', mediaType: 'application/json', text });
  });
  return `${lines.join('\n')}\n`;
}

describe('the frame of the console', { skip: noChromium, concurrency: 2 }, () => {
  let stage: ConsoleStage;
  let automation: string;
  let run: string;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
    automation = await addAutomation(stage.admin, workflow, { name: 'Check of ce0', data: {} });
    await stage.admin.importAutomations({ rawBody: manyWorkflows() });
    run = (await stage.admin.runAutomation({ path: { id: automation }, body: {} })).value.id;
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  async function openPalette(page: Page): Promise<void> {
    await page.getByRole('button', { name: /^Find/u }).waitFor();
    await page.keyboard.press('Control+k');
    await until('the palette has the focus', async () => {
      return (await page.evaluate(() => document.activeElement?.getAttribute('role'))) === 'combobox';
    });
  }

  /** Opens the palette, types, and waits until it offers that. */
  async function find(page: Page, text: string, offered: RegExp): Promise<void> {
    await openPalette(page);
    await page.keyboard.type(text);
    await page.getByRole('option', { name: offered }).waitFor();
  }

  test('the title of a page is the name of its thing, with a small id and the way back', async () => {
    const page = await stage.open(`/automations/${automation}`, { role: 'admin' });
    await page.getByRole('heading', { level: 1, name: 'Check of ce0' }).waitFor();
    assert.equal(await page.title(), 'Check of ce0 · Orchestration Gateway');
    await page.getByRole('button', { name: 'Copy: the id' }).click();
    await page.getByRole('button', { name: 'Copy it by hand: the id' }).waitFor();
    await page.getByRole('navigation', { name: 'The way back' }).getByRole('link', { name: 'Automations' }).click();
    await page.waitForURL(/\/console\/automations$/u);
    await page.getByRole('heading', { level: 1, name: 'Automations' }).waitFor();
    assert.equal(await page.title(), 'Automations · Orchestration Gateway');
    await page.context().close();
  });

  test('the palette finds a page, an automation, a workflow, an adapter and a run by keyboard', async () => {
    const page = await stage.open('', { role: 'admin' });
    await find(page, 'ce0', /Check of ce0 Automation/u);
    assert.deepEqual(await axeFindings(page), []);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/automations/${automation}$`, 'u'));
    await find(page, 'of a dev', /Check of a device Workflow frame\.first/u);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/workflows\/frame\.first$/u);
    await find(page, 'local', /Local NSO Adapter/u);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/adapters\/Local%20NSO$/u);
    await find(page, run, /frame\.first, \w+ Run/u);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/runs/${run}$`, 'u'));
    await find(page, 'au', /^Audit Page$/u);
    const chosen = page.locator('[role=option][aria-selected=true]');
    assert.match(await chosen.innerText(), /Automations/u);
    for (let keys = 0; !/Audit/u.test(await chosen.innerText()); keys += 1) {
      assert.ok(keys < 20, 'the arrows do not reach the page Audit');
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/audit$/u);
    await openPalette(page);
    await page.keyboard.press('Escape');
    await until('the palette is closed', async () => (await page.getByRole('dialog').count()) === 0);
    assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
    await page.context().close();
  });

  test('the list of workflows says that it has more, and its filter finds the others', async () => {
    const page = await stage.open('/workflows', { role: 'admin' });
    await shows(page, /The first 1,000 of 1,002 workflows\. A filter finds the others/u);
    await page.getByLabel('Title, id or function').fill('OF a dev');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('link', { name: 'Check of a device' }).waitFor();
    await page.context().close();
  });

  test('the palette finds nothing that the role may not use, and says so', async () => {
    const page = await stage.open('', { role: 'readonly' });
    await openPalette(page);
    await page.keyboard.type('Local NSO');
    await page.getByText('Nothing has this name or id.').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('new');
    await page.getByText('Nothing has this name or id.').waitFor();
    await page.context().close();
  });

  test('a time is shown from now, and by pointer and by focus with its zone', async () => {
    const page = await stage.open(`/automations/${automation}`, { role: 'admin' });
    const time = page.locator('.facts time').first();
    await time.waitFor();
    assert.match(await time.innerText(), /^now$|^\d+ (?:s|min) ago$/u);
    const tip = page.getByRole('tooltip');
    await time.hover();
    assert.match(await tip.innerText(), /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/u);
    await page.keyboard.press('Escape');
    assert.equal(await tip.count(), 0);
    await page.keyboard.press('Tab');
    await page.locator('table tbody a').first().focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    assert.match(await tip.innerText(), /UTC/u, 'the link of a row shows the times of the row');
    assert.deepEqual(await axeFindings(page), []);
    await page.context().close();
  });

  test('the navigation takes one row of a phone, and opens and closes by keyboard', async () => {
    const page = await stage.open('', { role: 'admin', width: 360, height: 640 });
    const header = page.locator('.console > header');
    await header.waitFor();
    const { height = 0 } = (await header.boundingBox()) ?? {};
    assert.ok(height > 0 && height <= 60, `${height} pixels`);
    const menu = page.getByRole('button', { name: 'Menu', exact: true });
    await menu.focus();
    await page.keyboard.press('Enter');
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Adapters' });
    assert.equal(await link.isVisible(), true);
    assert.deepEqual(await axeFindings(page), []);
    assert.equal(await scrollsSideways(page), false);
    await page.keyboard.press('Escape');
    assert.equal(await link.isVisible(), false);
    await page.keyboard.press('Enter');
    await link.click();
    await shows(page, /Local NSO/u);
    assert.equal(await link.isVisible(), false);
    await page.context().close();
  });

  test('the colours are those of the system until the person chooses others, and this browser keeps the choice', async () => {
    const page = await stage.open('', { role: 'admin', dark: true });
    const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.locator('main').waitFor();
    assert.equal(await ground(), 'rgb(16, 21, 28)');
    await page.getByLabel('Colours').selectOption('Light');
    assert.equal(await ground(), 'rgb(246, 247, 249)');
    await page.reload();
    await page.getByLabel('Colours').waitFor();
    assert.equal(await ground(), 'rgb(246, 247, 249)');
    await page.context().close();
  });
});
