import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { jsonReply } from '../support/far-sides/far-side.ts';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { noChromium } from './chromium.ts';
import { axeFindings, type ConsoleStage, consoleStage, hostile } from './console-stage.ts';

// The console in a real browser against a running gateway (docs/guides/console.md): the tasks of people, and what holds on every page.

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
      await stage.admin.createWorkflow({ rawBody: workflow, contentType: 'application/yaml' });
      const body = { name: `${name} ${hostile}`, data: { workflowId: `console.${name}`, description: hostile } };
      ids[name] = (await stage.admin.createAutomation({ body })).value._id;
    }
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  async function text(page: Page): Promise<string> {
    return await page.locator('main').innerText();
  }

  /** Waits until the page has that text. */
  async function shows(page: Page, wanted: RegExp): Promise<void> {
    await until(String(wanted), async () => wanted.test(await text(page)));
  }

  test('takes a person from the first login to the end of a first run, by keyboard alone', async () => {
    const page = await stage.open('/automations');
    await page.keyboard.press('Tab');
    await page.keyboard.type('admin-user');
    await page.keyboard.press('Tab');
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type(testPassword);
    await page.keyboard.press('Enter');
    const link = page.getByRole('link', { name: `waits ${hostile}` });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Device (required)').focus();
    await page.keyboard.type('ce0');
    await page.keyboard.press('Tab');
    await page.keyboard.type('18446744073709551615');
    await page.getByRole('button', { name: 'Run', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/runs\/[\w-]+$/u);
    await until('the focus', async () => (await page.evaluate(() => document.activeElement?.tagName)) === 'H1');
    await shows(page, /completed[\s\S]*18446744073709551615[\s\S]*18446744073709551615/u);
    assert.match(await page.locator('.last-change').innerText(), /POST \/automation_catalog\/automations\/\w+\/run → 201/u);
    await page.context().close();
  });

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

  test('shows the events of a run over a connection that breaks', async () => {
    const run = await runUnderWay();
    const page = await stage.open(`/runs/${run.id}`, { role: 'readonly' });
    await page.locator('.live.live').waitFor();
    stage.cut();
    await page.locator('.live.away').waitFor();
    run.finish();
    stage.mend();
    await shows(page, /✓\s*completed[\s\S]*push/u);
    await page.context().close();
  });

  test('lets an admin decide about a call whose outcome is unknown, and the run goes on', async () => {
    stage.far.answer((_request, socket) => void socket.destroy());
    const run = (await stage.admin.runAutomation({ path: { id: ids['acts'] ?? '' }, body: {} })).value.id;
    const reader = await stage.open(`/runs/${run}`, { role: 'readonly' });
    await shows(reader, /It is unknown whether this call happened[\s\S]*The role admin decides/u);
    assert.equal(await reader.getByRole('button', { name: 'Cancel the run' }).count(), 0);
    const page = await stage.open(`/runs/${run}`, { role: 'admin' });
    await page.getByRole('radio', { name: /^It happened/u }).check();
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

  test('offers a role what it may do, and shows the refusal of the gateway for the rest', async () => {
    const page = await stage.open('', { role: 'readonly' });
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    assert.deepEqual(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts(), [
      'Overview',
      'Automations',
      'Runs',
      'Workflows',
      'Approvals',
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

  test('leads to the login where the session has ended, and back to the page', async () => {
    const page = await stage.open('/adapters', { role: 'admin' });
    await shows(page, /Local NSO/u);
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('User name').fill('admin-user');
    await page.getByLabel('Password').fill(testPassword);
    await page.keyboard.press('Enter');
    await shows(page, /Local NSO/u);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('form', { name: 'Log in' }).waitFor();
    await page.context().close();
  });

  test('finds who called an orchestrator, and how it ended', async () => {
    stage.far.answer(() => jsonReply('{}'));
    await stage.admin.restAction({
      path: { adapterId: 'Local NSO' },
      rawBody: '{"params":{"path":"touch/ce7","accept":"a/b"},"body":{}}',
    });
    const page = await stage.open('/audit', { role: 'admin' });
    await page.getByLabel('Adapter').fill('Local NSO');
    await page.getByLabel('Outcome').selectOption('ok');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/\/audit\?adapter=Local\+NSO&outcome=ok$/u);
    const row = page.getByRole('row').filter({ hasText: 'POST touch/ce7' });
    await row.waitFor();
    assert.match(await row.innerText(), /admin-user[\s\S]*ok/u);
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
    await page.getByRole('button', { name: 'Send' }).click();
    await shows(page, /\\"serial\\":18446744073709551615,\\"one\\":1\.0/u);
    assert.equal(stage.far.request.body.toString(), '{"n":18446744073709551615}');
    await page.getByText('The same call for a program').click();
    assert.match(await text(page), /curl -X POST[\s\S]*gateway\.restRequest\([\s\S]*requests\.request\(/u);
    stage.far.answer(() => jsonReply(`"${'x'.repeat(8 * 1024 ** 2)}"`));
    await page.getByRole('button', { name: 'Send' }).click();
    await shows(page, /This is its begin/u);
    const length = await page.evaluate(() => document.body.innerText.length);
    assert.ok(length < 150_000, `${length} characters`);
    await page.context().close();
  });

  test('judges a workflow while it is typed, with line and column, and stores it as a version', async () => {
    const page = await stage.open('/workflows/new', { role: 'engineering' });
    const area = page.getByLabel(/^Serverless Workflow/u);
    await area.fill(workflows.waits.replace('name: waits', 'name: typed').replace('milliseconds', 'miliseconds'));
    const place = page.getByRole('button', { name: /^Go to line 15, column \d+$/u });
    await place.first().click();
    assert.match(await text(page), /did you mean "milliseconds"/u);
    assert.equal(await area.evaluate((element: HTMLTextAreaElement) => element === document.activeElement), true);
    await area.fill(workflows.waits.replace('name: waits', 'name: typed'));
    await shows(page, /No problems\./u);
    await page.getByRole('button', { name: 'Store this version' }).click();
    await page.waitForURL(/\/workflows\/console\.typed\?version=1\.0\.0$/u);
    await shows(page, /begin\s*set[\s\S]*pause\s*wait[\s\S]*done\s*set/u);
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

  test('lists a thousand runs, and shows the markup in their names as text', async () => {
    const page = await stage.open('/runs', { role: 'admin' });
    const runs = Array.from({ length: 1000 }, (_, at) => ({
      id: `019ab2c4-5f60-7d31-8a52-${String(at).padStart(12, '0')}`,
      workflow: 'console.waits',
      version: '1.0.0',
      status: 'completed',
      startedBy: { principal: hostile },
      createdAt: '2026-03-01T22:00:00.000Z',
    }));
    await page.route('**/runs?**', (route) => route.fulfill({ json: { list: runs } }));
    await page.goto(page.url());
    await until('a thousand rows', async () => (await page.locator('tbody tr').count()) === 1000);
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.locator('tbody tr').last().locator('td').nth(3).innerText(), hostile);
    await page.context().close();
  });

  for (const [look, options, rules] of [
    ['in light', {}, undefined],
    ['in dark', { dark: true }, ['color-contrast']],
    ['360 pixels wide', { width: 360 }, ['color-contrast', 'target-size', 'scrollable-region-focusable']],
  ] as const) {
    test(`has no finding of axe, no markup of others and no request to elsewhere on any page ${look}`, async () => {
      const login = await stage.open('', options);
      assert.deepEqual(await axeFindings(login, rules), [], 'login');
      await login.context().close();
      const page = await stage.open('', { ...options, role: 'admin' });
      const faults = watched(page);
      for (const path of await pages()) {
        await page.goto(`${new URL(page.url()).origin}/console${path}`);
        await page.locator('main h1').waitFor();
        await until(path, async () => (await page.locator('.loading').count()) === 0);
        assert.deepEqual(await axeFindings(page, rules), [], path);
        const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
        assert.equal(isTooWide, false, `${path} scrolls sideways`);
        assert.equal(await page.locator('img').count(), 0, path);
        assert.match(await page.title(), / · Orchestration Gateway$/u);
      }
      assert.deepEqual(faults, []);
      await page.context().close();
    });
  }

  /** Errors of a page, and its requests to other addresses. */
  function watched(page: Page): readonly string[] {
    const faults: string[] = [];
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(page.url()).origin) faults.push(request.url());
    });
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 40[34]/u.test(message.text())) faults.push(message.text());
    });
    return faults;
  }

  /** The address of every page, below `/console`. */
  async function pages(): Promise<readonly string[]> {
    const { list } = (await stage.admin.listRuns({ query: { limit: 1 } })).value;
    const approval = (await stage.admin.listApprovals()).value.list[0]?.id ?? '';
    return [
      '',
      '/automations',
      `/automations/${ids['waits']}`,
      '/runs',
      '/runs?status=faulted&workflow=none.such',
      `/runs/${list[0]?.id}`,
      '/runs/none',
      '/workflows',
      '/workflows/console.acts',
      '/workflows/new',
      '/approvals?status=any',
      `/approvals/${approval}`,
      '/adapters',
      '/adapters/Away',
      '/explorer',
      '/explorer?kind=restCall',
      '/audit',
      '/access',
      '/api',
      '/api/restAction',
      '/nowhere',
    ];
  }
});

describe('the built console', () => {
  const folder = new URL('../../console/dist/', import.meta.url);

  test('takes at most 60 kB to load, compressed', async () => {
    const assets = await readdir(new URL('assets/', folder));
    const files = ['index.html', ...assets.map((name) => `assets/${name}`)];
    const sizes = await Promise.all(files.map(async (name) => gzipSync(await readFile(new URL(name, folder))).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total <= 60_000, `${total} bytes`);
  });
});
