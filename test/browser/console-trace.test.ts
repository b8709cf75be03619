// suite: long

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { parse } from 'yaml';
import { createGateway } from '../../client/src/gateway.ts';
import { matchesPassword, parsePasswordHash } from '../../src/access/passwords/password-hash.ts';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { jsonReply } from '../support/upstreams/upstream.ts';
import { axeFindings } from './axe.ts';
import { noChromium, startChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';
import { type DemoStage, demoStage } from './demo-stage.ts';
import { type OpenOptions, openPage } from './open-page.ts';
import { goToPage, personWithKeyboard, scrollsSideways } from './person.ts';

// People ask what was sent, who sent it, and who may: the audit log, the explorer, notifications and access (docs/guides/console.md).

describe('the console', { skip: noChromium }, () => {
  let demo: DemoStage;
  let stage: ConsoleStage;
  let browser: Browser;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    demo = await demoStage(owner);
    stage = await consoleStage(owner, {
      config: {
        notifications: [
          {
            url: 'http://127.0.0.1:9/hook',
            secret: `whsec_${'x'.repeat(32)}`,
            events: ['io.serverlessworkflow.workflow.faulted.v1'],
          },
        ],
        outbound: { allow: ['127.0.0.1'] },
      },
    });
    browser = await startChromium(owner);
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  const openDemo = (path: string, options: OpenOptions = {}): Promise<Page> =>
    openPage(browser, demo.gateway.url, path, { role: 'admin', ...options });
  const phone = { width: 360, height: 640, dark: true } as const;

  async function judged(page: Page): Promise<void> {
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
  }

  test('answers what exactly was sent to a device on a day, and who approved it, by keyboard on a narrow dark screen', async () => {
    const id = await demo.renaming('ce7', 'r7-edge');
    const lea = createGateway({ baseUrl: demo.gateway.url, username: 'lea', password: testPassword });
    await lea.grantApproval({ path: { id }, body: { reason: 'planned for the 12th' } });
    await until('the change', async () => (await demo.admin.readApproval({ path: { id } })).value.status === 'used');
    const page = await openDemo('', phone);
    const person = personWithKeyboard(page);
    await page.clock.setFixedTime(Date.now() + 86_400_000);
    await goToPage(person, 'Audit');
    await person.press(page.locator('summary').filter({ hasText: 'Any time' }));
    await person.press(page.getByRole('button', { name: 'Yesterday' }));
    await person.write(page.getByLabel('Device', { exact: true }), 'ce7');
    await person.press(page.getByRole('button', { name: 'Filter' }));
    await person.sees(/PUT Local NSO restconf\/data\/tailf-ncs:devices\/device=ce7/u);
    await person.press(page.getByRole('link', { name: /^PUT Local NSO restconf/u }));
    await person.sees(
      /What was sent[\s\S]*"r7-edge"[\s\S]*SHA-256[\s\S]*Decisions[\s\S]*granted by lea[\s\S]*planned for the 12th/u,
    );
    assert.match(await page.locator('h1').innerText(), /^PUT Local NSO restconf\/data/u);
    await person.sees(/Who\s+admin-user/u);
    await page.context().close();
  });

  test('searches the audit log by object and by text, and saves what it found as NDJSON', async () => {
    await demo.run('Bring up a VPN', { vpn: 'gamma', devices: ['ce5'] });
    const page = await openDemo('/audit?range=24h');
    await page.getByLabel('Object', { exact: true }).fill('Bring up a VPN');
    await page.getByRole('button', { name: 'Filter' }).click();
    await shows(page, /automation Bring up a VPN/u);
    assert.doesNotMatch(await page.locator('table').innerText(), /login|Rename a device/u);
    await page.goto(page.url().replace(/\?.*/u, '?range=24h'));
    await page.getByLabel('Has the text').fill('device=ce5');
    await page.getByRole('button', { name: 'Filter' }).click();
    await shows(page, /device=ce5/u);
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save these records as NDJSON' }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), 'audit.ndjson');
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
    const records = lines.map((line) => JSON.parse(line) as { readonly address?: string });
    assert.ok(records.length > 0 && records.every(({ address = '' }) => address.includes('device=ce5')), lines.join());
    await shows(page, /\d+ records? saved: all that fit/u);
    await judged(page);
    await page.context().close();
  });

  test('shows a reply of the explorer as a table, as a tree and raw, and keeps the call in this browser', async () => {
    const page = await openDemo('/explorer?kind=restQuery', { width: 360, height: 640 });
    await page.getByLabel('Path').fill('restconf/data/tailf-ncs:devices/device?fields=name;address;port');
    await page.getByRole('button', { name: 'Send' }).click();
    const table = page.getByRole('group', { name: 'The reply as a table' });
    await table.waitFor();
    assert.match(await table.locator('thead').innerText(), /name[\s\S]*address[\s\S]*port/u);
    await judged(page);
    await page.getByRole('button', { name: 'Tree', exact: true }).click();
    await shows(page, /result: \[\d+\][\s\S]*instance_data: \{3\}[\s\S]*name: "ce0"/u);
    await judged(page);
    await page.getByRole('button', { name: 'Raw', exact: true }).click();
    await page.getByRole('group', { name: 'The body of the reply' }).waitFor();
    await page.getByText('The same call for a program').click();
    const ansible = await page.getByRole('group', { name: 'Ansible' }).innerText();
    const [task] = parse(ansible, { customTags: [{ tag: '!unsafe', resolve: (text: string) => text }] }) as [
      { readonly 'ansible.builtin.uri': { readonly body: string; readonly method: string } },
    ];
    assert.match(task['ansible.builtin.uri'].body, /^\{"params":\{"path":"restconf/u);
    await page.getByLabel('Name of the saved call').fill('All devices');
    await page.getByRole('button', { name: 'Save the call' }).click();
    await page.reload();
    await page.getByRole('link', { name: 'All devices' }).click();
    assert.match(await page.getByLabel('Path').inputValue(), /fields=name;address;port$/u);
    await page.getByRole('button', { name: 'Forget All devices' }).click();
    await shows(page, /Send a call, then save it under a name/u);
    await judged(page);
    await page.context().close();
  });

  test('asks before the explorer sends a change, and sends nothing if the person says no', async () => {
    const page = await stage.open('/explorer?kind=restRequest', { role: 'admin' });
    stage.far.answer(() => jsonReply('{"list":[{"serial":18446744073709551615,"one":1.0}]}'));
    await page.getByLabel('Adapter').selectOption('Local NSO');
    await page.getByLabel('Method').selectOption('DELETE');
    await page.getByLabel('Path').fill('a/b');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('dialog').getByText('DELETE a/b').waitFor();
    await judged(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    assert.equal(stage.far.requests.length, 0);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Send it' }).click();
    await shows(page, /serial\s+one\s+18446744073709551615\s+1\.0/u);
    assert.equal(stage.far.request.method, 'DELETE');
    await page.context().close();
    const reader = await stage.open('/explorer', { role: 'engineering' });
    await shows(reader, /You may not send: Action\. The role admin may/u);
    assert.deepEqual(await reader.getByRole('navigation', { name: 'Kinds of calls' }).getByRole('link').allInnerTexts(), [
      'REST call',
    ]);
    await reader.context().close();
  });

  test('never puts a reply of 50 MB into the page', async () => {
    const page = await stage.open('/explorer?kind=restQuery', { role: 'admin' });
    stage.far.answer(() => jsonReply(`"${'x'.repeat(50 * 1024 ** 2)}"`));
    await page.getByLabel('Adapter').selectOption('Local NSO');
    await page.getByLabel('Path').fill('a/b');
    await page.getByRole('button', { name: 'Send' }).click();
    await until('an answer', async () => (await page.getByText(/This is its begin|too large/u).count()) > 0);
    const length = await page.evaluate(() => document.documentElement.outerHTML.length);
    assert.ok(length < 300_000, `${length} characters`);
    stage.far.answer(() => jsonReply('{}'));
    await page.context().close();
  });

  test('says which notifications wait or failed, and of which receiver', async () => {
    const faulting = `
document: { dsl: '1.0.3', namespace: trace, name: faults, version: '1.0.0' }
do:
  - fails: { raise: { error: { type: 'https://example.net/y', status: 500 } } }
`;
    const automation = await addAutomation(stage.admin, faulting, { name: 'Faults', data: {} });
    await stage.admin.runAutomation({ path: { id: automation }, body: {} });
    const page = await stage.open('/notifications', { role: 'admin', ...phone });
    await shows(page, /Receivers[\s\S]*127\.0\.0\.1:9[\s\S]*waiting\s+workflow\.faulted/u);
    await page.getByLabel('State').selectOption('failed');
    await page.getByRole('button', { name: 'Filter' }).click();
    await shows(page, /No notification of the last 7 days fits/u);
    await judged(page);
    await page.context().close();
  });

  test('says what ends when a colleague leaves, and lets one take it', async () => {
    const workflow = `
document: { dsl: '1.0.3', namespace: trace, name: left, version: '1.0.0' }
do:
  - only: { set: { n: 1 } }
`;
    const engineer = createGateway({ baseUrl: stage.gateway.url, username: 'engineering-user', password: testPassword });
    const automation = await addAutomation(engineer, workflow, { name: 'Left behind', data: {} });
    const page = await stage.open('/access?view=leaving', { role: 'admin', ...phone });
    await page.getByLabel('Name or id of the person').fill('engineering-user');
    await page.getByRole('button', { name: 'Show what ends' }).click();
    await shows(page, /Automations that no longer run[\s\S]*Left behind[\s\S]*wrote it[\s\S]*trace\.left[\s\S]*person-gone/u);
    await judged(page);
    await page.getByRole('button', { name: 'Take all of them' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take all of them' }).click();
    await shows(page, /Automations that no longer run\s+None/u);
    assert.equal((await stage.admin.readAutomation({ path: { id: automation } })).value.data?.owner, 'admin-user');
    await page.context().close();
  });

  test('makes the hash of a password in the browser, which sends the password nowhere', async () => {
    const page = await stage.open('/access?view=password', { role: 'readonly', ...phone });
    const bodies: string[] = [];
    page.on('request', (request) => bodies.push(`${request.url()} ${request.postData() ?? ''}`));
    await page.getByLabel('New password').fill('a new pass phrase');
    await page.getByLabel('The same again').fill('another one');
    await page.getByRole('button', { name: 'Make the hash' }).click();
    await shows(page, /The two passwords differ/u);
    await page.getByLabel('The same again').fill('a new pass phrase');
    await page.getByRole('button', { name: 'Make the hash' }).click();
    const shown = page.getByRole('group', { name: 'The hash' });
    await shown.waitFor();
    const hash = parsePasswordHash(await shown.innerText());
    assert.ok(hash !== undefined && (await matchesPassword('a new pass phrase', hash)));
    assert.doesNotMatch(bodies.join('\n'), /pass(?:%20| )phrase/u);
    await judged(page);
    await page.goto(page.url().replace('password', 'you'));
    await shows(page, /What you may do[\s\S]*readonly-user[\s\S]*listRuns/u);
    await judged(page);
    await page.context().close();
  });
});
