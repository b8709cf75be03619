// suite: long

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { axeFindings } from './axe.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleStage, consoleStage, shows } from './console-stage.ts';

// How people build automations in the console, undo a change, and what those see who may not (docs/guides/console.md).

const workflow = `
document: { dsl: '1.0.3', namespace: build, name: check, version: '1.2.0', title: Check of devices }
input:
  schema:
    document:
      type: object
      required: [devices]
      properties:
        devices: { type: array, items: { type: string }, title: Devices }
        limit: { type: integer, title: Limit }
        deep: { type: boolean, title: Deep check, default: false }
do:
  - first: { set: { number: 1 } }
`;
const largest = '18446744073709551615';

describe('in the console', { skip: noChromium, concurrency: 2 }, () => {
  let stage: ConsoleStage;
  let engineer: Client;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    stage = await consoleStage({ after: (end) => void close.push(end) });
    engineer = createGateway({ baseUrl: stage.gateway.url, username: 'engineering-user', password: testPassword });
    await stage.admin.createWorkflow({ rawBody: workflow, contentType: 'application/yaml' });
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  async function add(name: string, more: Readonly<Record<string, string>> = {}, groups?: object): Promise<string> {
    const gbac = groups === undefined ? '' : `,"gbac":${JSON.stringify(groups)}`;
    const data = `{"workflowId":"build.check","input":{"devices":["ce0"],"limit":${largest}}${gbac}}`;
    const rest = JSON.stringify({ name, ...more });
    return (await stage.admin.createAutomation({ rawBody: `${rest.slice(0, -1)},"data":${data}}` })).value._id;
  }

  const textOf = async (id: string): Promise<string> => (await stage.admin.readAutomation({ path: { id } })).text;

  test('a person makes an automation whose input is a form and whose numbers keep their digits', async () => {
    const page = await stage.open('/automations/new?workflow=build.check', { role: 'admin' });
    await page.getByLabel('Name (required)').fill('Made by hand');
    await page.getByLabel('Devices (required)').fill('ce0\nce1');
    await page.getByLabel('Limit').fill(largest);
    await page.getByLabel('Deep check').selectOption('yes');
    await page.getByRole('button', { name: 'As JSON' }).click();
    assert.match(await page.getByLabel('Input, as JSON').inputValue(), new RegExp(`"limit": ${largest}`, 'u'));
    await page.getByRole('button', { name: 'As a form' }).click();
    await page.getByText('Groups', { exact: true }).click();
    await page.getByLabel('Groups that change and run it').fill('noc\n\nlab');
    assert.deepEqual(await axeFindings(page), []);
    await page.getByRole('button', { name: 'Create the automation' }).click();
    await page.getByRole('heading', { level: 1, name: 'Made by hand' }).waitFor();
    assert.match(await page.locator('.last-change').innerText(), /POST \/automation_catalog\/automations → 201/u);
    const text = await textOf(new URL(page.url()).pathname.split('/').at(-1) ?? '');
    assert.match(text, new RegExp(`"input":\\{"devices":\\["ce0","ce1"\\],"limit":${largest},"deep":true\\}`, 'u'));
    assert.match(text, /"write":\["noc","lab"\]/u);
    await page.context().close();
  });

  test('a draft that the gateway would refuse says why, and the problem leads to its control', async () => {
    await add('Taken name');
    const page = await stage.open('/automations/new', { role: 'admin' });
    await page.getByLabel('Name (required)').fill('Taken name');
    await page.getByRole('radio', { name: /^At set times/u }).check();
    await page.getByLabel('How often').selectOption('by a cron expression');
    await page.getByLabel('Cron expression').fill('99 * * * *');
    await shows(page, /Times\s+is no cron expression \(99 is no minute/u);
    assert.deepEqual(await axeFindings(page), []);
    await page.getByLabel('Cron expression').fill('30 2 * * 1-5');
    await shows(page, /Name\s+is the name of another automation[\s\S]*It runs next/u);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'name');
    await page.getByRole('button', { name: 'Create the automation' }).click();
    await shows(page, /automation-exists/u);
    await page.context().close();
  });

  test('the next five times follow what a person chooses, in the zone of the schedule', async () => {
    const page = await stage.open('/automations/new', { role: 'admin' });
    await page.getByLabel('Name (required)').fill('Times');
    await page.getByRole('radio', { name: /^At set times/u }).check();
    await page.getByLabel('How often').selectOption('on days of the week');
    await page.getByRole('checkbox', { name: 'Sunday' }).check();
    await page.getByRole('checkbox', { name: 'Monday' }).uncheck();
    await page.getByLabel('At', { exact: true }).fill('06:30');
    await page.getByLabel('Time zone').fill('Asia/Tokyo');
    await shows(page, /(?:Sun,? \d+ \w+ 20\d\d,? (?:at )?06:30 GMT\+9[^\n]*\n?){5}/u);
    await page.getByRole('radio', { name: /^Again and again/u }).check();
    await page.getByLabel('Every', { exact: true }).fill('2');
    await page.getByLabel('Unit').selectOption('weeks');
    await page.getByLabel('First at').fill('2031-01-01T05:00');
    await shows(page, /1 Jan 2031[\s\S]*15 Jan 2031[\s\S]*29 Jan 2031[\s\S]*12 Feb 2031[\s\S]*26 Feb 2031/u);
    await page.getByRole('radio', { name: /^Once/u }).check();
    await page.getByLabel('On', { exact: true }).fill('2031-03-01T05:00');
    await shows(page, /It runs\s+Sat,? 1 Mar 2031/u);
    await page.getByRole('button', { name: 'Create the automation' }).click();
    await shows(page, /Rule\s+once/u);
    await page.context().close();
  });

  test('an edit changes what a person changed, and leaves the rest and its people as they were', async () => {
    const id = await add('To be edited', { repeatInterval: '1 hours', nextRunAt: '2031-01-01T00:00:07.123Z' });
    const before = await textOf(id);
    const page = await stage.open(`/automations/${id}?view=edit`, { role: 'engineering' });
    await page.getByLabel('Description').fill('Said by an engineer');
    await page.getByRole('button', { name: 'Save the changes' }).click();
    await shows(page, /Said by an engineer/u);
    const changed = await textOf(id);
    const plain = (text: string): string =>
      text.replace(/"description":"[^"]*",|"lastUpdated":"[^"]*"|"lastModifiedBy":"[^"]*"/gu, '');
    assert.equal(plain(changed), plain(before));
    assert.match(changed, /"owner":"admin-user","scheduledBy":"admin-user"/u);
    await page.context().close();
  });

  test('a person sees who changed an automation and what, and undoes it', async () => {
    const id = await add('Changed by an engineer', { repeatInterval: '1 day', nextRunAt: '2026-01-01T05:00:00Z' });
    const before = await textOf(id);
    await engineer.patchAutomation({
      path: { id },
      rawBody: '{"data":{"input":{"limit":7}},"repeatInterval":"2 hours","nextRunAt":"2031-01-01T00:00:00Z"}',
    });
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await page.getByRole('link', { name: 'History' }).click();
    await shows(page, /engineering-user\s+changed\s+Input limit, Schedule/u);
    await shows(page, new RegExp(`Input limit\\s+− ${largest}\\s+\\+ 7\\s+Schedule\\s+− every day\\s+\\+ every 2 hours`, 'u'));
    assert.deepEqual(await axeFindings(page), []);
    await page.getByRole('button', { name: 'Put this back' }).click();
    await page
      .getByRole('dialog')
      .getByText(/It changes: Input limit, Schedule/u)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Put this back' }).click();
    await shows(page, /Rule\s+every day/u);
    const now = await textOf(id);
    assert.match(now, new RegExp(`"limit":${largest}`, 'u'));
    const { nextRunAt = '', repeatInterval } = JSON.parse(now) as { nextRunAt?: string; repeatInterval?: string };
    assert.equal(repeatInterval, (JSON.parse(before) as { repeatInterval?: string }).repeatInterval);
    assert.equal(nextRunAt.slice(11), '05:00:00.000Z', 'the time of day comes back');
    assert.ok(Date.parse(nextRunAt) > Date.now(), 'nothing is due at once');
    await page.context().close();
  });

  test('a person runs an automation whose stored input has a password, and gives it only with another input', async () => {
    const field = { type: 'string', title: 'Password', format: 'password' };
    const more = { type: 'string', title: 'Zone', default: 'lab' };
    const device = { type: 'string', title: 'Device' };
    const properties = { device, enable: field, zone: more };
    const rawBody =
      "{ document: { dsl: '1.0.3', namespace: build, name: login, version: '1.0.0' }, do: [{ first: { set: { done: true } } }] }";
    await stage.admin.createWorkflow({ rawBody, contentType: 'application/yaml' });
    await stage.admin.putForm({ path: { id: 'login' }, body: { type: 'object', properties } });
    const data = { workflowId: 'build.login', formId: 'login', input: { device: 'ce0', enable: 'correct-horse' } };
    const { _id: id } = (await stage.admin.createAutomation({ body: { name: 'With a password', data } })).value;
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await shows(page, /completed/u);
    const again = await stage.open(`/automations/${id}`, { role: 'admin' });
    await again.getByLabel('Device').fill('ce1');
    await again.getByRole('button', { name: 'Run', exact: true }).click();
    await shows(again, /give the password again/u);
    for (const one of [page, again]) await one.context().close();
  });

  test('a person pauses and resumes a schedule by cron, also as a state that comes back', async () => {
    const id = await add('Paused');
    await stage.admin.patchAutomation({ path: { id }, body: { data: { cron: '0 5 * * *' } } });
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await shows(page, /Next due\s+‖\s*paused/u);
    assert.deepEqual(await axeFindings(page), []);
    const list = await stage.open('/automations?contains=Paused', { role: 'admin' });
    await shows(list, /every day at 05:00, UTC\s+‖\s*paused\s+never ran/u);
    await page.getByRole('link', { name: 'Edit' }).first().click();
    await page.getByLabel('Description').fill('still paused');
    await page.getByRole('button', { name: 'Save the changes' }).click();
    await shows(page, /still paused[\s\S]*Next due\s+‖\s*paused/u);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    assert.match(await textOf(id), /"nextRunAt":"[^"]*T05:00:00\.000Z"/u);
    for (const one of [page, list]) await one.context().close();
  });

  test('a person copies an automation, and deletes the copy after a question', async () => {
    const id = await add('The original');
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await page.getByRole('link', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Create the automation' }).click();
    await page.getByRole('heading', { level: 1, name: 'The original (copy)' }).waitFor();
    const copy = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    assert.match(await textOf(copy), new RegExp(`"limit":${largest}`, 'u'));
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Automations' }).waitFor();
    await assert.rejects(textOf(copy), { code: 'automation-not-found' });
    assert.match(await textOf(id), /The original/u);
    await page.context().close();
  });

  test('a person takes over an automation of another one', async () => {
    const { _id: id } = (
      await engineer.createAutomation({ body: { name: 'Of an engineer', data: { workflowId: 'build.check' } } })
    ).value;
    const page = await stage.open(`/automations/${id}`, { role: 'admin' });
    await shows(page, /Owner\s+engineering-user/u);
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take over' }).click();
    await shows(page, /Owner\s+admin-user/u);
    await until('it is no longer offered', async () => (await page.getByRole('button', { name: 'Take over' }).count()) === 0);
    await page.context().close();
  });

  test('the list shows the last ten outcomes as marks that lead to their runs', async () => {
    const id = await add('Ran often');
    const runs: string[] = [];
    for (let count = 0; count < 11; count += 1) {
      const run = (await stage.admin.runAutomation({ path: { id }, body: { input: { devices: [] } } })).value.id;
      await Array.fromAsync(stage.admin.followRun({ path: { id: run } }));
      runs.push(run);
    }
    const page = await stage.open('/automations?contains=Ran+often', { role: 'readonly' });
    const marks = page.locator('.outcomes a');
    await until('ten marks', async () => (await marks.count()) === 10);
    assert.deepEqual(
      await marks.evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).pathname.split('/').at(-1))),
      runs.slice(1),
    );
    assert.match((await marks.first().getAttribute('aria-label')) ?? '', /^completed, 20/u);
    await page.context().close();
  });

  test('a reader is offered nothing that changes or runs, and reads which right is missing', async () => {
    const id = await add('Only to be read', { repeatInterval: '1 day', nextRunAt: '2031-01-01T05:00:00Z' }, { write: ['noc'] });
    const page = await stage.open(`/automations/${id}`, { role: 'readonly' });
    await shows(page, /You may not change this automation\. The roles admin and engineering may, and members of the groups noc/u);
    await shows(page, /You may not run this automation\. The roles admin and engineering may[\s\S]*runAutomation/u);
    for (const name of ['Run', 'Pause', 'Resume', 'Delete', 'Take over']) {
      assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
    }
    for (const name of ['Edit', 'Copy']) assert.equal(await page.getByRole('link', { name, exact: true }).count(), 0, name);
    await page.goto(`${page.url()}?view=edit`);
    await shows(page, /You may not change this automation/u);
    await page.goto(page.url().replace('edit', 'history'));
    await shows(page, /You may not put a state back[\s\S]*admin-user\s+created/u);
    await page.goto(`${new URL(page.url()).origin}/console/automations/new`);
    await shows(page, /You may not create an automation\. The roles admin and engineering may/u);
    assert.deepEqual(await axeFindings(page), []);
    await page.context().close();
  });

  test('an export is a file that an import takes again', async () => {
    await add('Exported');
    const page = await stage.open('/automations', { role: 'admin' });
    const started = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export', exact: true }).click();
    const file = await (await started).path();
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    assert.ok(lines.some((line) => line.includes(`"limit":${largest}`)));
    await page.getByRole('link', { name: 'Import', exact: true }).click();
    await page.getByLabel('A file of an export').setInputFiles({
      name: 'two.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from(`${lines.find((line) => line.includes('"Exported"'))}\n{"name":"New by import"}\n`),
    });
    await shows(page, /2 automations/u);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click();
    await shows(page, /2 documents imported, 1 in place of others/u);
    assert.deepEqual(await axeFindings(page), []);
    await page.getByLabel('A file of an export').setInputFiles({
      name: 'bad.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from('{"nam":"x"}\n'),
    });
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click();
    await shows(page, /\/1\/nam/u);
    await page.context().close();
  });
});
