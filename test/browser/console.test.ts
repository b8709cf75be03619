// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { jsonReply } from '../support/upstreams/upstream.ts';
import { noChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';

// What pages of the console do, in a real browser against a running gateway (docs/guides/console.md).

const workflows = {
  waits: `
document: { dsl: '1.0.3', namespace: console, name: waits, version: '1.0.0' }
input:
  schema:
    document:
      type: object
      required: [device]
      properties:
        device: { type: string, title: Device }
        serial: { type: integer }
        mode: { type: string, enum: [fast, slow] }
        tags: { type: array, items: { type: string } }
do:
  - begin: { set: { serial: '\${ .serial }' } }
  - pause: { wait: { milliseconds: 300 } }
  - done: { set: { serial: 18446744073709551615 } }
`,
  acts: `
document: { dsl: '1.0.3', namespace: console, name: acts, version: '1.0.0' }
do:
  - push: { call: orchestratorAction, with: { adapter: Local NSO, params: { path: push, accept: application/json }, body: {} } }
`,
};

describe('the console', { skip: noChromium }, () => {
  let stage: ConsoleStage;
  const ids: Record<string, string> = {};
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
    for (const [name, workflow] of Object.entries(workflows)) {
      ids[name] = await addAutomation(stage.admin, workflow, { name, data: {} });
    }
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  async function text(page: Page): Promise<string> {
    return await page.locator('main').innerText();
  }

  /** A run whose only call gets its reply from `finish`. */
  async function runUnderWay(): Promise<{ readonly id: string; readonly finish: () => void }> {
    const { promise: called, resolve: call } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    stage.far.answer(async () => {
      call();
      await finished;
      return jsonReply('{}');
    });
    const { id } = (await stage.admin.runAutomation({ path: { id: ids['acts'] ?? '' }, body: {} })).value;
    await called;
    return { id, finish };
  }

  test('lets an admin decide about a call whose outcome is unknown, and the run goes on', async () => {
    stage.far.answer((_request, socket) => void socket.destroy());
    const run = (await stage.admin.runAutomation({ path: { id: ids['acts'] ?? '' }, body: {} })).value.id;
    const reader = await stage.open(`/runs/${run}`, { role: 'readonly' });
    await shows(reader, /It is unknown whether this call happened[\s\S]*The role admin decides/u);
    assert.equal((await text(reader)).match(/Cause: The upstream broke the connection off/gu)?.length, 1);
    await shows(reader, /unknown\s+POST push[\s\S]*Local NSO/u);
    assert.equal(await reader.getByRole('button', { name: 'Cancel the run' }).count(), 0);
    const page = await stage.open(`/runs/${run}`, { role: 'admin' });
    await page.getByRole('radio', { name: /^It happened/u }).check();
    assert.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0, 'the gateway would refuse it');
    await page.getByLabel('Reason').fill('the change is there');
    await page.getByLabel(/^Output of the task/u).fill('{"serial":18446744073709551615}');
    await page.getByRole('button', { name: 'Decide' }).click();
    await shows(page, /completed[\s\S]*18446744073709551615/u);
    await shows(reader, /completed/u);
    for (const one of [page, reader]) await one.context().close();
  });

  test('shows an approver the exact call, and grants it with a reason', async () => {
    const call = {
      path: { adapterId: 'Local NSO' },
      rawBody: '{"params":{"path":"core/a","accept":"a/b"},"body":{"n":18446744073709551615}}',
    };
    const refused = await stage.admin
      .restAction(call)
      .catch((error: { readonly problem: { readonly approval: { readonly id: string } } }) => error);
    assert.ok('problem' in refused);
    const { id } = refused.problem.approval;
    const page = await stage.open('/approvals', { role: 'engineering' });
    await page.getByRole('link', { name: 'POST Local NSO core/a' }).click();
    await shows(page, /"n": 18446744073709551615/u);
    await page.getByRole('radio', { name: /^Grant/u }).check();
    await page.getByLabel('Reason').fill('read it');
    await page.getByRole('button', { name: 'Decide' }).click();
    await shows(page, /granted by engineering-user/u);
    stage.far.answer(() => jsonReply('{}'));
    assert.equal((await stage.admin.restAction({ ...call, approval: id })).status, 200);
    await page.context().close();
  });

  test('starts one run where the reply to the first click was lost, also where it is run again', async () => {
    const id = ids['waits'] ?? '';
    const started = async (): Promise<number> => (await stage.admin.listRuns({ query: { automation: id } })).value.list.length;
    const before = await started();
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    const sent: string[] = [];
    await page.route(/\/(?:re)?run$/u, async (route) => {
      sent.push(new URL(route.request().url()).pathname);
      if (sent.length % 2 === 0) return await route.continue();
      await route.fetch();
      return await route.abort();
    });
    await page.getByLabel('Device (required)').fill('r2');
    const run = page.getByRole('button', { name: 'Run', exact: true });
    await run.click();
    await page.getByRole('alert').waitFor();
    await run.click();
    await shows(page, /✓\s*completed/u);
    assert.deepEqual([sent.length, (await started()) - before], [2, 1]);
    const first = page.url();
    const rerun = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Run again' }).first().click();
      await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    };
    await rerun();
    await page.getByRole('alert').waitFor();
    await rerun();
    await page.waitForURL((url) => url.href !== first);
    await shows(page, /✓\s*completed/u);
    assert.deepEqual([sent.length, (await started()) - before], [4, 2]);
    await page.context().close();
  });

  test('calls a run by hand a run, and no scheduled one', async () => {
    const id = ids['waits'] ?? '';
    await stage.admin.runAutomation({ path: { id }, body: { input: { device: 'r1' } } });
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await shows(page, /Last scheduled run\s+–[\s\S]*Last runs[\s\S]*admin-user/u);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Automations' }).click();
    await page.getByRole('columnheader', { name: 'Last scheduled run' }).waitFor();
    await page.context().close();
  });

  test('offers a role what it may do, and shows the refusal of the gateway for the rest', async () => {
    const page = await stage.open('', { role: 'readonly' });
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    assert.deepEqual(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts(), [
      'Home',
      'Automations',
      'Workflows',
      'Runs',
      'Approvals',
      'Access',
      'API',
    ]);
    await page.goto(page.url().replace('/console', '/console/audit'));
    await shows(page, /Your roles do not allow this/u);
    assert.equal(await page.locator('.failure.forbidden').count(), 1);
    await page.goto(page.url().replace('/audit', '/runs/none'));
    await shows(page, /There is no such run[\s\S]*run-not-found/u);
    await page.goto(page.url().replace('/runs/none', '/nowhere'));
    await shows(page, /There is no such page/u);
    await page.context().close();
  });

  test('cancels a run by keyboard after a question, and never loses the focus', async () => {
    const run = await runUnderWay();
    const page = await stage.open(`/runs/${run.id}`, { role: 'admin' });
    const cancel = page.getByRole('button', { name: 'Cancel the run' });
    await cancel.first().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Cancel the run');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await shows(page, /○\s*cancelled/u);
    await until('the focus', async () => (await page.evaluate(() => document.activeElement?.tagName)) === 'H1');
    run.finish();
    await page.context().close();
  });

  test('keeps the digits of a reply in the explorer, and puts only the begin of a long one into the page', async () => {
    const page = await stage.open('/explorer?kind=restRequest', { role: 'admin' });
    stage.far.answer(() => jsonReply('{"serial":18446744073709551615,"one":1.0}'));
    await page.getByLabel('Method').selectOption('POST');
    await page.getByLabel('Path').fill('a/b');
    await page.getByLabel('Body, a JSON object').fill('{"n":18446744073709551615}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Send it' }).click();
    await shows(page, /statusCode: 200[\s\S]*serial: 18446744073709551615\s+one: 1\.0/u);
    assert.equal(stage.far.request.body.toString(), '{"n":18446744073709551615}');
    await page.getByText('The same call for a program').click();
    assert.match(await text(page), /curl -X POST[\s\S]*gateway\.restRequest\([\s\S]*requests\.request\(/u);
    await page.getByRole('button', { name: 'Copy: curl' }).click();
    await page.getByRole('button', { name: 'Copy it by hand: curl' }).waitFor();
    stage.far.answer(() => jsonReply(`"${'x'.repeat(8 * 1024 ** 2)}"`));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Send it' }).click();
    await shows(page, /This is its begin/u);
    const length = await page.evaluate(() => document.body.innerText.length);
    assert.ok(length < 150_000, `${length} characters`);
    await page.context().close();
  });

  test('explains a decision, and has every operation of the API with a form to try it', async () => {
    const page = await stage.open('/access', { role: 'admin' });
    await page.getByLabel('Roles').fill('readonly');
    await page.getByLabel('Operation', { exact: true }).selectOption('restAction');
    await page.getByLabel('Adapter').fill('Local NSO');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.locator('.answer').getByText('denied').waitFor();
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByLabel('Contains').fill('who');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'whoami' }).click();
    await page.getByText('Try it').click();
    await page.getByRole('button', { name: 'Send GET' }).click();
    await shows(page, /"username": "admin-user"/u);
    await page.context().close();
  });

  test('says who answers for an automation and which version it runs, and pauses and resumes its schedule', async () => {
    const data = { workflowId: 'console.waits', workflowVersion: '1.0.0', cron: '0 5 * * *', gbac: { write: ['noc'] } };
    const { _id: id } = (await stage.admin.createAutomation({ body: { name: 'pinned', data } })).value;
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await shows(page, /Version\s+1\.0\.0[\s\S]*Owner\s+admin-user[\s\S]*Scheduled by\s+admin-user/u);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Pause' }).last().click();
    await shows(page, /Next due\s+‖\s*paused/u);
    assert.equal((await stage.admin.readAutomation({ path: { id } })).value.nextRunAt, undefined);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    const { nextRunAt = '', data: after } = (await stage.admin.readAutomation({ path: { id } })).value;
    assert.deepEqual([nextRunAt.slice(11), after?.cron], ['05:00:00.000Z', '0 5 * * *']);
    await page.context().close();
  });

  test('explains a decision by the entrance', async () => {
    const page = await stage.open('/access', { role: 'admin' });
    const asked = page.waitForRequest((request) => request.url().endsWith('/access/explain'));
    await page.getByLabel('Roles').fill('admin');
    await page.getByLabel('Entrance').selectOption('a run');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.locator('.answer').getByText('allowed').waitFor();
    assert.equal(((await asked).postDataJSON() as { readonly via?: string }).via, 'run');
    await page.context().close();
  });

  test('lists a thousand runs', async () => {
    const page = await stage.open('/runs', { role: 'admin' });
    const runs = Array.from({ length: 1000 }, (_, at) => ({
      id: `019ab2c4-5f60-7d31-8a52-${String(at).padStart(12, '0')}`,
      workflow: 'console.waits',
      version: '1.0.0',
      status: 'completed',
      startedBy: { principal: 'admin-user' },
      createdAt: '2026-03-01T22:00:00.000Z',
    }));
    const isList = ({ pathname }: URL): boolean => pathname === '/runs';
    await page.route(isList, (route) => route.fulfill({ json: { list: runs } }));
    await page.goto(page.url());
    const rows = page.getByRole('group', { name: 'Runs', exact: true }).locator('tbody tr');
    await until('a thousand rows', async () => (await rows.count()) === 1000);
    await page.context().close();
  });
});
