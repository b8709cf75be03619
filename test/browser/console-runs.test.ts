// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { NsoNode, yang } from '../support/upstreams/nso-node.ts';
import { httpReply, jsonReply } from '../support/upstreams/upstream.ts';
import { axeFindings } from './axe.ts';
import { noChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';
import { scrollsSideways } from './person.ts';

// People find out why a run failed, and decide about calls whose outcome is unknown (docs/guides/console.md).

const loop = `
document: { dsl: '1.0.3', namespace: why, name: loop, version: '1.0.0' }
input: { schema: { document: { type: object, properties: { devices: { type: array, items: { type: string }, title: Devices } } } } }
do:
  - each:
      for: { each: device, in: '\${ .devices }' }
      do:
        - check: { call: orchestratorAction, with: { adapter: Local NSO, params: { path: '\${ "check/" + $device }', accept: application/json }, body: { serial: 18446744073709551615 } } }
`;
const one = `
document: { dsl: '1.0.3', namespace: why, name: one, version: '1.0.0' }
do:
  - act: { call: orchestratorAction, with: { adapter: Local NSO, params: { path: act, accept: application/json }, body: { device: '\${ .item // .device // "-" }' } } }
`;
const many = `
document: { dsl: '1.0.3', namespace: why, name: many, version: '1.0.0' }
do:
  - all: { call: batch, with: { items: '\${ .devices }', parallel: 5, failures: count, workflow: { namespace: why, name: one, version: 1.0.0 } } }
`;

describe('the console', { skip: noChromium }, () => {
  let stage: ConsoleStage;
  let node: NsoNode;
  const ids = { loop: '', one: '', many: '' };
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    node = await NsoNode.start(owner, '6.7');
    stage = await consoleStage(owner, { adapters: [{ name: 'NSO', kind: 'nso', url: node.far.url, stamp: true }] });
    ids.loop = await addAutomation(stage.admin, loop, { name: 'Check all devices', data: {} });
    ids.one = await addAutomation(stage.admin, one, { name: 'Act on a device', data: {} });
    ids.many = await addAutomation(stage.admin, many, { name: 'Act on many devices', data: {} });
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  async function start(id: string, input: object): Promise<string> {
    return (await stage.admin.runAutomation({ path: { id }, body: { input: { ...input } } })).value.id;
  }

  async function reaches(id: string, ...states: readonly string[]): Promise<void> {
    await until(states.join(), async () => states.includes((await stage.admin.readRun({ path: { id } })).value.status));
  }

  test('answers why last night’s run failed: the device, the call, what was sent and what came back', async () => {
    stage.far.answer(({ target }) => {
      const isBroken = target.includes('R37');
      return isBroken
        ? httpReply({ status: 500, headers: { 'Content-Type': 'application/json' }, body: '{"error":"out of memory"}' })
        : jsonReply('{"ok":true}');
    });
    const devices = Array.from({ length: 50 }, (_, at) => `R${at}`);
    const run = await start(ids.loop, { devices });
    await reaches(run, 'faulted');
    const page = await stage.open('/runs?status=faulted', { role: 'admin', width: 360, height: 640 });
    await shows(page, /Check all devices[\s\S]*upstream-error|Check all devices/u);
    await page.getByRole('link', { name: 'Check all devices' }).click();
    await shows(page, /38 turns: 1 faulted, 37 completed/u);
    await page.getByRole('button', { name: '[37] R37' }).scrollIntoViewIfNeeded();
    await shows(page, /\[37\] R37[\s\S]*The orchestrator answered 500/u);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height < 4_000, `${height} pixels: the loop is folded`);
    assert.doesNotMatch(await page.locator('main').innerText(), /\[36\]/u);
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByText('The steps in words').click();
    await shows(page, /check[\s\S]*faulted[\s\S]*37 of 38/u);
    await page.getByRole('link', { name: 'Show the tasks that failed' }).click();
    await page.waitForURL(/tasks=failed/u);
    const calls = page.locator('summary').filter({ hasText: 'Calls' }).last();
    await calls.click();
    await shows(page, /POST check\/R37[\s\S]*Upstream answered\s+500/u);
    await page.locator('summary').filter({ hasText: 'What was sent' }).click();
    await shows(page, /"serial": 18446744073709551615[\s\S]*SHA-256/u);
    await page.locator('summary').filter({ hasText: 'Data' }).last().click();
    await shows(page, /Arguments[\s\S]*check\/R37/u);
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByLabel('Failed only').uncheck();
    await page.getByLabel(/^Find a task/u).fill('r12');
    await shows(page, /1 turn: 1 completed[\s\S]*\[12\] R12/u);
    assert.equal(new URL(page.url()).searchParams.get('find'), 'r12');
    await page.context().close();
  });

  test('runs a run again with an edited input, whose numbers keep their digits', async () => {
    stage.far.answer(() => jsonReply('{}'));
    const run = await start(ids.one, { device: 'R1' });
    await reaches(run, 'completed');
    const page = await stage.open(`/runs/${run}`, { role: 'admin' });
    await page.getByRole('button', { name: 'Run again with another input' }).click();
    const input = page.getByLabel('Input, as JSON');
    assert.match(await input.inputValue(), /"device": "R1"/u);
    assert.deepEqual(await axeFindings(page), []);
    await input.fill('{"device":18446744073709551615}');
    await page.getByRole('button', { name: 'Run with this input' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run));
    await shows(page, /✓\s*completed/u);
    assert.equal(stage.far.requests.at(-1)?.body.toString(), '{"device":18446744073709551615}');
    await page.context().close();
  });

  test('runs a run again with what people change in the form of its input', async () => {
    stage.far.answer(() => jsonReply('{"ok":true}'));
    const run = await start(ids.loop, { devices: ['R1'] });
    await reaches(run, 'completed');
    const page = await stage.open(`/runs/${run}`, { role: 'admin', width: 360, height: 640 });
    await page.getByRole('button', { name: 'Run again with another input' }).click();
    const devices = page.getByLabel('Devices');
    await until('the devices of the run', async () => (await devices.inputValue()) === 'R1');
    await devices.fill('R2\nR3');
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByRole('button', { name: 'Run with this input' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run));
    await shows(page, /2 turns: 2 completed/u);
    await page.context().close();
  });

  test('lets one decide several unknown outcomes at once on a phone at night, and says what the orchestrator knows', async () => {
    stage.far.answer((_request, socket) => void socket.destroy());
    const runs = await Promise.all(['A', 'B', 'C'].map((device) => start(ids.one, { device })));
    for (const run of runs) await reaches(run, 'suspended');
    stage.far.answer(() => jsonReply('{"done":true}'));
    const page = await stage.open('/', { role: 'admin', width: 360, height: 640, dark: true });
    await page.getByRole('link', { name: '3 runs with calls of an unknown outcome' }).click();
    await until('three calls', async () => (await page.getByRole('checkbox').count()) === 3);
    await page.getByRole('button', { name: 'Ask the orchestrator' }).first().click();
    await shows(page, /The orchestrator cannot say it\. Look at the device/u);
    await page.getByRole('button', { name: 'Choose all 3' }).click();
    await page.getByRole('radio', { name: /^Do it again/u }).check();
    await page.getByLabel('Reason').fill('none of the devices has it');
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByRole('button', { name: 'Decide all 3' }).click();
    await shows(page, /No call waits for a decision/u);
    for (const run of runs) await reaches(run, 'completed');
    await page.goto(page.url().replace(/\/runs.*/u, `/runs/${runs[0]}`));
    await shows(page, /decided: do it again by admin-user[\s\S]*none of the devices has it/u);
    await page.context().close();
  });

  test('says on a phone at three in the morning whether a call happened, by the rollback files of NSO and a fresh preview', async () => {
    const path = 'restconf/data/tailf-ncs:devices/device=R7/description';
    const renames = `
document: { dsl: '1.0.3', namespace: why, name: renames, version: '1.0.0' }
do:
  - rename: { call: orchestratorRequest, with: { adapter: NSO, params: { method: PUT, path: '${path}', accept: ${yang} }, body: { 'tailf-ncs:description': x } } }
`;
    let label = '';
    node.answer = ({ target }, socket) => {
      const [, params = ''] = /[?&]params=([^&]*)/u.exec(target) ?? [];
      label = /"label":"([^"]+)"/u.exec(Buffer.from(decodeURIComponent(params), 'base64').toString())?.[1] ?? '';
      socket.destroy();
    };
    const automation = await addAutomation(stage.admin, renames, { name: 'Rename R7', data: {} });
    const run = await start(automation, {});
    await reaches(run, 'suspended');
    const page = await stage.open(`/runs/${run}`, { role: 'admin', width: 360, height: 640, dark: true });
    await shows(page, /unknown whether this call happened[\s\S]*PUT restconf\/data\/tailf-ncs:devices\/device=R7/u);
    const device = [{ name: 'R7', data: '+ description x\n' }];
    const ask = page.getByRole('button', { name: 'Ask the orchestrator' });
    const mostly = JSON.stringify({ 'dry-run-result': { native: { device } } });
    for (const [files, preview, wanted] of [
      ['[{"id":0,"label":"other"}]', mostly, /It most likely did not happen[\s\S]*no rollback file[\s\S]*\+ description x/u],
      [
        `[{"id":1,"label":"${label}","date":"2026-11-26 03:00:00"}]`,
        '{"dry-run-result":{"native":{}}}',
        /It happened: the orchestrator has the commit of this call[\s\S]*rollback file with the label[\s\S]*Nothing would change/u,
      ],
    ] as const) {
      node.files = files;
      node.answer = () => jsonReply(preview, { type: yang });
      await ask.click();
      await shows(page, wanted);
      assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    }
    await page.getByRole('radio', { name: /^It happened/u }).check();
    await page.getByLabel('Reason').fill('NSO has the commit');
    await page.getByRole('button', { name: 'Decide' }).click();
    await shows(page, /✓\s*completed/u);
    await page.context().close();
  });

  test('has a batch as a table by item, where people decide for those that they choose, and run the failed ones again', async () => {
    stage.far.answer(({ body }, socket) => {
      if (/"D[12]"/u.test(body.toString())) return void socket.destroy();
      return /"D3"/u.test(body.toString())
        ? httpReply({ status: 500, headers: { 'Content-Type': 'application/json' }, body: '{"error":"locked"}' })
        : jsonReply('{"ok":1.0}');
    });
    const run = await start(ids.many, { devices: ['D0', 'D1', 'D2', 'D3'] });
    const page = await stage.open(`/runs/${run}`, { role: 'admin', width: 360, height: 640 });
    await page.locator('summary').filter({ hasText: 'Items:' }).click();
    await shows(page, /unknown whether calls of 2 items happened[\s\S]*for all of them/u);
    await page.getByLabel('State of the items').selectOption('unknown');
    await page.getByLabel('Decide about item 1').check();
    await shows(page, /for the 1 that are chosen/u);
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByRole('radio', { name: /^It happened/u }).check();
    await page.getByLabel('Reason').fill('seen on the device');
    await page.getByRole('button', { name: 'Decide' }).click();
    await shows(page, /unknown whether calls of 1 items happened/u);
    await page.getByRole('radio', { name: /^It did not happen/u }).check();
    await page.getByLabel('Reason').fill('not there');
    await page.getByRole('button', { name: 'Decide' }).click();
    await shows(page, /✓\s*completed/u);
    await page.getByLabel('State of the items').selectOption('any');
    await page.getByLabel('Find an item').fill('D3');
    await page.keyboard.press('Enter');
    await until('one item', async () => (await page.getByRole('group', { name: 'Items' }).locator('tbody tr').count()) === 1);
    stage.far.answer(() => jsonReply('{}'));
    await page.getByRole('button', { name: 'Run the failed items again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run the failed items again' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(run));
    await shows(page, /✓\s*completed/u);
    assert.equal(stage.far.requests.length, 2, 'D2 and D3 alone');
    await page.context().close();
  });

  test('holds a run of 20,000 tasks without a stutter', async () => {
    stage.far.answer(() => jsonReply('{}'));
    const run = await start(ids.one, { device: 'R1' });
    await reaches(run, 'completed');
    const page = await stage.open('/runs', { role: 'admin' });
    const task = (id: number, reference: string, more: object = {}) => {
      const name = reference.slice(reference.lastIndexOf('/') + 1);
      return { id: `${id}`, reference, name, attempt: 1, status: 'completed', begin: '2026-03-01T22:00:00.000Z', ...more };
    };
    const error = { type: 'urn:x:late', status: 500, detail: 'too late', instance: '/do/0' };
    const tasks = Array.from({ length: 20_000 }, (_, at) =>
      at === 0
        ? task(0, '/do/0/each')
        : task(at, '/do/0/each/do/0/check', {
            iteration: at,
            label: `R${at}`,
            ...(at === 15_000 && { status: 'faulted', error }),
          }),
    );
    let asked = 0;
    await page.route('**/runs/*/tasks?**', (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
      asked += 1;
      const next = from + 1_000;
      return route.fulfill({ json: { list: tasks.slice(from, next), ...(next < tasks.length && { cursor: `${next}` }) } });
    });
    await page.goto(page.url().replace('/runs', `/runs/${run}`));
    await shows(page, /19,999 turns: 1 faulted, 19998 completed[\s\S]*\[15000\] R15000[\s\S]*too late/u);
    assert.ok(asked <= 22, `${asked} questions: each page once, and the last one again with the news`);
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(elements < 1_500, `${elements} elements`);
    const longest = await page.evaluate(async () => {
      const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent.includes('turns:'));
      const begin = performance.now();
      button?.click();
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      return performance.now() - begin;
    });
    await shows(page, /Show 100 more of 19,999 turns/u);
    assert.ok(longest < 1_000, `${longest} ms to open the loop`);
    await page.context().close();
  });
});
