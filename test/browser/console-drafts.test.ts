// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { axeFindings } from './axe.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleStage, consoleStage, shows } from './console-stage.ts';
import { editorText, pasteText } from './editor.ts';
import { scrollsSideways } from './person.ts';

// What a person typed is kept until it is saved or discarded, also where another person saved meanwhile (docs/guides/console.md).

const workflow = `
document: { dsl: '1.0.3', namespace: drafts, name: check, version: '1.0.0', title: Check of devices }
input:
  schema:
    document:
      type: object
      properties:
        devices: { type: array, items: { type: string }, title: Devices }
        limit: { type: integer, title: Limit }
do:
  - first: { set: { number: 1 } }
`;
const other = workflow.replace('name: check', 'name: other').replace('Check of devices', 'Other').replace('Limit', 'Highest');
const largest = '18446744073709551615';

describe('in the console', { skip: noChromium, concurrency: 2 }, () => {
  let stage: ConsoleStage;
  let engineer: Client;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
    engineer = createGateway({ baseUrl: stage.gateway.url, username: 'engineering-user', password: testPassword });
    for (const rawBody of [workflow, other]) await stage.admin.createWorkflow({ rawBody, contentType: 'application/yaml' });
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  async function add(name: string): Promise<string> {
    const rawBody = `{"name":${JSON.stringify(name)},"data":{"workflowId":"drafts.check","input":{"devices":["ce0"],"limit":${largest}}}}`;
    return (await stage.admin.createAutomation({ rawBody })).value._id;
  }

  async function logIn(page: Page, username: string): Promise<void> {
    await page.getByLabel('User name').fill(username);
    await page.getByLabel('Password').fill(testPassword);
    await page.getByRole('button', { name: 'Log in' }).click();
  }

  /** Types into each kind of control. */
  async function typeAll(page: Page): Promise<void> {
    await page.getByLabel('Name (required)').fill('Typed name');
    await page.getByLabel('Devices').fill('ce7\nce8');
    await page.getByRole('radio', { name: /^At set times/u }).check();
    await page.getByLabel('How often').selectOption('on days of the week');
    await page.getByRole('checkbox', { name: 'Monday' }).uncheck();
    await page.getByRole('checkbox', { name: 'Sunday' }).check();
    await page.getByLabel('At', { exact: true }).fill('06:30');
    await shows(page, /Not saved yet: kept in this tab/u);
  }

  async function hasAll(page: Page): Promise<void> {
    await page.getByLabel('Devices').waitFor();
    const typed = [
      await page.getByLabel('Name (required)').inputValue(),
      await page.getByLabel('Devices').inputValue(),
      await page.getByLabel('How often').inputValue(),
      await page.getByRole('checkbox', { name: 'Monday' }).isChecked(),
      await page.getByRole('checkbox', { name: 'Sunday' }).isChecked(),
      await page.getByLabel('At', { exact: true }).inputValue(),
    ];
    assert.deepEqual(typed, ['Typed name', 'ce7\nce8', 'week', false, true, '06:30']);
  }

  test('an automation that is edited keeps what was typed over other pages, a new load and a new session', async () => {
    const id = await add('To be kept');
    const page = await stage.open(`/automations/${id}?view=edit`, { role: 'admin' });
    await typeAll(page);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('link', { name: 'Edit (not saved yet)' }).click();
    await hasAll(page);
    await page.reload();
    await hasAll(page);
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Your session has ended').waitFor();
    await logIn(page, 'admin-user');
    await page.getByRole('link', { name: 'Edit (not saved yet)' }).click();
    await hasAll(page);
    assert.deepEqual(await axeFindings(page), []);
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('link', { name: 'Cancel' }).waitFor();
    assert.equal(await page.getByLabel('Name (required)').inputValue(), 'To be kept');
    assert.equal(await page.getByLabel('Limit').inputValue(), largest);
    await page.context().close();
  });

  test('a new automation keeps what was typed, also where another workflow is chosen, and is saved as typed', async () => {
    const page = await stage.open('/automations/new?workflow=drafts.check', { role: 'admin' });
    await typeAll(page);
    await page.getByLabel('Workflow', { exact: true }).selectOption('drafts.other');
    await page.getByLabel('Highest').fill('7');
    await page.goto(`${new URL(page.url()).origin}/console/automations/new`);
    await page.getByRole('button', { name: 'Open it' }).click();
    await hasAll(page);
    await page.getByRole('button', { name: 'Create the automation' }).click();
    await page.getByRole('heading', { level: 1, name: 'Typed name' }).waitFor();
    const { text } = await stage.admin.readAutomation({ path: { id: new URL(page.url()).pathname.split('/').at(-1) ?? '' } });
    assert.match(text, /"workflowId":"drafts\.other"[\s\S]*"input":\{"devices":\["ce7","ce8"\],"limit":7\}/u);
    assert.match(text, /"cron":"30 6 \* \* 0"/u);
    await page.goto(`${new URL(page.url()).origin}/console/automations/new`);
    await page.getByRole('link', { name: 'Cancel' }).waitFor();
    await page.context().close();
  });

  test('who saves second sees both changes, and puts the own one over the other: nothing is lost', async () => {
    const id = await add('Edited by two');
    const page = await stage.open(`/automations/${id}?view=edit`, { role: 'admin', width: 360 });
    await page.getByLabel('Description').fill('the second');
    await page.getByLabel('Devices').fill('ce0\nce1');
    await engineer.patchAutomation({
      path: { id },
      rawBody: '{"data":{"description":"the first","input":{"limit":7}}}',
    });
    await page.getByRole('button', { name: 'Save the changes' }).click();
    await shows(page, /engineering-user changed it[\s\S]*Description\s+changed by both\s+–\s+the first\s+the second/u);
    assert.match((await page.evaluate(() => document.activeElement?.textContent)) ?? '', /^engineering-user changed it/u);
    await shows(page, new RegExp(`Input limit\\s+${largest}\\s+7\\s+as before`, 'u'));
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    assert.match((await stage.admin.readAutomation({ path: { id } })).text, /the first/u);
    // The choice is still there after a new load.
    await page.reload();
    await page.getByRole('button', { name: 'Put mine over theirs' }).click();
    await page.getByRole('button', { name: 'Put mine over theirs' }).waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Limit').inputValue(), '7');
    assert.equal(await page.getByLabel('Description').inputValue(), 'the second');
    await page.getByRole('button', { name: 'Save the changes' }).click();
    await page.waitForURL(new RegExp(`/automations/${id}$`, 'u'));
    const { text } = await stage.admin.readAutomation({ path: { id } });
    assert.match(text, /"description":"the second"[\s\S]*"input":\{"devices":\["ce0","ce1"\],"limit":7\}/u);
    await page.context().close();
  });

  test('an edit leaves a schedule paused that another person paused meanwhile', async () => {
    const id = await add('Paused meanwhile');
    await stage.admin.patchAutomation({ path: { id }, body: { data: { cron: '0 5 * * *' } } });
    const page = await stage.open(`/automations/${id}?view=edit`, { role: 'admin' });
    await page.getByLabel('Description').fill('said later');
    await engineer.patchAutomation({ path: { id }, body: { nextRunAt: null } });
    await page.getByRole('button', { name: 'Save the changes' }).click();
    await shows(page, /said later[\s\S]*Next due\s+‖\s*paused/u);
    await page.context().close();
  });

  test('who stores a workflow second puts the own changes over the newer version', async () => {
    const name = workflow.replace('name: check', 'name: shared');
    await stage.admin.createWorkflow({ rawBody: name, contentType: 'application/yaml' });
    const page = await stage.open('/workflows/drafts.shared?view=edit', { role: 'admin' });
    await page.locator('.code-editor .cm-content').waitFor();
    await pasteText(page, name.replace("'1.0.0'", "'1.0.1'").replace('number: 1', 'number: 2'));
    await shows(page, /No problems/u);
    const theirs = name.replace("'1.0.0'", "'1.0.1'").replace('title: Limit', 'title: Most');
    await engineer.createWorkflow({ rawBody: theirs, contentType: 'application/yaml' });
    await page.getByRole('button', { name: 'Store this version' }).click();
    await shows(page, /Version 1\.0\.1 was stored meanwhile[\s\S]*title: Most/u);
    assert.deepEqual(await axeFindings(page), []);
    await page.getByRole('button', { name: 'Put mine over it, as 1.0.2' }).click();
    await shows(page, /No problems/u);
    assert.match(await editorText(page), /1\.0\.2[\s\S]*title: Most[\s\S]*number: 2/u);
    await page.getByRole('button', { name: 'Store this version' }).click();
    await page.waitForURL(/version=1\.0\.2/u);
    const { text } = await stage.admin.readWorkflow({ path: { id: 'drafts.shared' }, query: { version: '1.0.2' } });
    assert.match(text, /title: Most[\s\S]*number: 2/u);
    await page.context().close();
  });
});
