// suite: long

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { jsonReply } from '../support/upstreams/upstream.ts';
import { axeFindings } from './axe.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleStage, consoleStage, shows } from './console-stage.ts';

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

  const workflow = `
document: { dsl: '1.0.3', namespace: records, name: acts, version: '1.0.0' }
do:
  - only: { set: { n: 1 } }
  - push: { call: orchestratorAction, with: { adapter: Local NSO, params: { path: 'push?key=1', accept: application/json }, body: { n: 1 } } }
`;

  test('shows a reader the call of a task while it is in flight, and what came of it, by keyboard', async () => {
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    stage.far.answer(async () => {
      await finished;
      return jsonReply('{"done":true}');
    });
    await stage.admin.createWorkflow({ rawBody: workflow, contentType: 'application/yaml' });
    const body = { name: 'acts', data: { workflowId: 'records.acts' } };
    const automation = (await stage.admin.createAutomation({ body })).value._id;
    const { id } = (await stage.admin.runAutomation({ path: { id: automation }, body: {} })).value;
    const page = await stage.open(`/runs/${id}`, { role: 'readonly', width: 360 });
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().includes('/calls') && asked.push(request.url())));
    const calls = page.locator('summary').filter({ hasText: 'Calls' });
    await calls.waitFor();
    assert.deepEqual(
      [await calls.count(), asked],
      [1, []],
      'only the task that calls has any, and they are asked for when opened',
    );
    await calls.focus();
    await page.keyboard.press('Enter');
    await shows(page, /▸\s*in flight\s+POST push\?[\s\S]*Local NSO[\s\S]*restAction/u);
    assert.deepEqual(await axeFindings(page), []);
    finish();
    await shows(page, /✓\s*ok\s+POST push\?[\s\S]*Upstream answered\s+200[\s\S]*7 bytes[\s\S]*13 bytes/u);
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Calls');
    assert.deepEqual([await axeFindings(page), await page.locator('img').count()], [[], 0]);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), true);

    const problem = {
      type: 'about:blank',
      title: 'There is no such run',
      status: 404,
      detail: 'x',
      code: 'run-not-found',
      requestId: 'y',
    };
    for (const [reply, wanted] of [
      [{ json: { list: [] } }, /No call of this task is on record/u],
      [{ status: 404, contentType: 'application/problem+json', body: JSON.stringify(problem) }, /There is no such run/u],
    ] as const) {
      await page.route('**/calls?**', (route) => route.fulfill(reply));
      await page.reload();
      await calls.click();
      await shows(page, wanted);
      assert.deepEqual(await axeFindings(page), []);
    }
    await page.unroute('**/calls?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await shows(page, /✓\s*ok\s+POST push/u);
    await page.context().close();
  });

  test('shows in red on Home a schedule that cannot run, and why, and in the audit log what each record is about', async () => {
    const { id } = (
      await stage.admin.createWorkflow({ rawBody: workflow.replace('acts', 'idle'), contentType: 'application/yaml' })
    ).value;
    const nextRunAt = new Date(Date.now() + 300).toISOString();
    const data = { workflowId: id, workflowVersion: '9.0.0' };
    const body = { name: 'Nightly <b>backup</b>', nextRunAt, repeatInterval: '1 hour', data };
    const { _id } = (await stage.admin.createAutomation({ body })).value;
    await until('the due time is skipped', async () => {
      return (await stage.admin.readAutomation({ path: { id: _id } })).value.lastSkip !== undefined;
    });
    const page = await stage.open('', { role: 'readonly', width: 360 });
    const line = page.getByRole('listitem').filter({ hasText: 'Nightly <b>backup</b>' }).filter({ hasText: 'workflow-missing' });
    await shows(page, /Waiting for you[\s\S]*It did not run \(workflow-missing\): Its workflow does not exist/u);
    assert.equal(
      await line
        .locator('.bad')
        .last()
        .evaluate((words) => getComputedStyle(words).color),
      'rgb(179, 38, 30)',
      'red',
    );
    assert.deepEqual(await axeFindings(page), []);
    await line.getByRole('link').click();
    await page.waitForURL(new RegExp(`/automations/${_id}$`, 'u'));
    await page.context().close();

    const params = { path: 'core/x', accept: 'application/json' };
    const asked = stage.admin.restAction({ path: { adapterId: 'Local NSO' }, body: { params, body: {} } });
    await assert.rejects(asked, { status: 403 });
    await until('the call is on record', async () => {
      return (await stage.admin.listAudit({ query: { address: 'core/x' } })).value.list.length > 0;
    });
    const audit = await stage.open('/audit', { role: 'admin' });
    await shows(audit, /POST Local NSO core\/x[\s\S]*approval POST core\/x[\s\S]*workflow records\.idle 1\.0\.0/u);
    const skipped = audit.getByRole('row').filter({ hasText: 'skipped' });
    assert.equal(
      await skipped.getByRole('link', { name: 'Nightly <b>backup</b>' }).getAttribute('href'),
      `/console/automations/${_id}`,
    );
    await audit.context().close();
  });

  test('verifies the chain of the audit log by keyboard, and says in words what was tampered with', async () => {
    const page = await stage.open('/audit', { role: 'admin' });
    const verify = page.getByRole('button', { name: 'Verify the chain' });
    await verify.focus();
    await page.keyboard.press('Enter');
    await shows(page, /✓\s*No record was changed\.\s+\d+ records in 1 chain, from 20\S+ \S+ to 20/u);
    assert.match(await page.locator('.last-change').innerText(), /POST \/audit\/verify → 200/u);
    assert.deepEqual(await axeFindings(page), []);
    const database = new DatabaseSync(join(stage.gateway.directory, 'gateway.audit.db'));
    // A transaction of the gateway needs this thread to end.
    await until('no transaction holds the log', () => {
      try {
        database.exec("update audit_entry set facts = replace(facts, 'version', 'Version') where seq = 1");
        return true;
      } catch (error) {
        if (error instanceof Error && error.message === 'database is locked') return false;
        throw error;
      }
    });
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
      const part = { chains: 1, records: 1_000, checkpoints: 0, problems: isFirst ? ['a/1 was changed'] : [], lost: [] };
      await route.fulfill({ json: isFirst ? { ...part, cursor: 'WyJhIiwxXQ' } : part });
    });
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await shows(page, /1,000 records verified so far[\s\S]*a\/1 was changed/u);
    release();
    await shows(page, /2,000 records verified\.[\s\S]*a\/1 was changed/u);
    assert.match(await page.locator('.last-change').innerText(), /\{"cursor":"WyJhIiwxXQ"\}/u);
    await page.context().close();
  });

  test('saves more than 100,000 records as one file, and says where it ended if a page does not come', async () => {
    const page = await stage.open('/audit', { role: 'admin' });
    const saves = page.getByRole('button', { name: 'Save these records as NDJSON' });
    await saves.waitFor();
    const pages = 120;
    let isBroken = true;
    await page.route('**/audit?*limit=1000*', async (route) => {
      const at = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
      if (at === 110 && isBroken) return route.abort();
      const list = Array.from({ length: 1_000 }, (_, number) => ({
        id: `a/${at * 1_000 + number}`,
        time: new Date(1_800_000_000_000 - (at * 1_000 + number) * 1_000).toISOString(),
        event: 'request',
      }));
      await route.fulfill({ json: { list, ...(at + 1 < pages && { cursor: String(at + 1) }) } });
    });
    await saves.click();
    await shows(
      page,
      /It ended early, after 110,000 records\. Nothing is saved yet\. Records before 20\d\d-\S+ \S+ are missing/u,
    );
    assert.deepEqual(await axeFindings(page), []);
    isBroken = false;
    const started = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Go on from there' }).click();
    await shows(page, /120,000 records saved: all that fit/u);
    const lines = (await readFile(await (await started).path(), 'utf8')).trimEnd().split('\n');
    const ids = new Set(lines.map((line) => (JSON.parse(line) as { readonly id: string }).id));
    assert.deepEqual([lines.length, ids.size], [120_000, 120_000]);
    await page.context().close();
  });
});
