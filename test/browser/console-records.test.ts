import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { noChromium } from './chromium.ts';
import { axeFindings, type ConsoleStage, consoleStage } from './console-stage.ts';

// What the console shows of the records of calls (docs/guides/console.md): in the audit log, and in the timeline of a run.

describe('the console', { skip: noChromium }, () => {
  let stage: ConsoleStage;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  /** Waits until the page has that text. */
  async function shows(page: Page, wanted: RegExp): Promise<void> {
    await until(String(wanted), async () => wanted.test(await page.locator('main').innerText()));
  }

  test('verifies the chain of the audit log by keyboard, and says in words what was tampered with', async () => {
    const page = await stage.open('/audit', { role: 'admin' });
    const verify = page.getByRole('button', { name: 'Verify the chain' });
    await verify.focus();
    await page.keyboard.press('Enter');
    await shows(page, /✓\s*No record was changed\.\s+\d+ records in 1 chain, from 20\S+ \S+ to 20/u);
    assert.match(await page.locator('.last-change').innerText(), /POST \/audit\/verify → 200/u);
    assert.deepEqual(await axeFindings(page), []);
    const database = new DatabaseSync(join(stage.gateway.directory, 'gateway.audit.db'));
    database.exec("update audit_entry set facts = replace(facts, 'version', 'Version') where seq = 1");
    database.close();
    await page.keyboard.press('Enter');
    await shows(page, /The audit log was tampered with[\s\S]*\/1 was changed/u);
    assert.deepEqual(await axeFindings(page), []);
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Verify the chain');
    await page.context().close();
  });

  test('sums up the parts of a long verification while it goes on', async () => {
    const page = await stage.open('/audit', { role: 'admin' });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/audit/verify', async (route) => {
      const isFirst = route.request().postData() === '{}';
      if (!isFirst) await released;
      const part = { chains: 1, records: 1_000, checkpoints: 0, problems: isFirst ? ['a/1 was changed'] : [] };
      await route.fulfill({ json: isFirst ? { ...part, cursor: 'WyJhIiwxXQ' } : part });
    });
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await shows(page, /1,000 records verified so far[\s\S]*a\/1 was changed/u);
    release();
    await shows(page, /2,000 records verified\.[\s\S]*a\/1 was changed/u);
    assert.match(await page.locator('.last-change').innerText(), /\{"cursor":"WyJhIiwxXQ"\}/u);
    await page.context().close();
  });
});
