// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { approvalCaller, people } from '../support/approvals/approval-caller.ts';
import { type Gateway, startGateway, testPassword } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { jsonReply, type Upstream, upstream } from '../support/upstreams/upstream.ts';
import { axeFindings } from './axe.ts';
import { noChromium, startChromium } from './chromium.ts';
import { addAutomation, shows } from './console-stage.ts';
import { openPage } from './open-page.ts';
import { scrollsSideways } from './person.ts';

// What an approver has before the decision (contract-trust, section 19): all of the call, who is involved, and through what it was asked.

const one = `
document: { dsl: '1.0.3', namespace: noc, name: one, version: '1.0.0' }
do:
  - act: { call: orchestratorAction, with: { adapter: Far, params: { path: act, accept: application/json }, body: { device: '\${ .item // .device }' } } }
`;
const many = `
document: { dsl: '1.0.3', namespace: noc, name: many, version: '1.0.0' }
do:
  - all: { call: batch, with: { items: '\${ .devices }', workflow: { namespace: noc, name: one, version: 1.0.0 }, canary: 1 } }
`;

describe('the page of an approval', { skip: noChromium }, () => {
  let gateway: Gateway;
  let far: Upstream;
  let browser: Browser;
  let ann: Client;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    far = await upstream(owner);
    far.answer(() => jsonReply('{}'));
    const approvers = { groups: ['noc-leads'] };
    gateway = await startGateway(owner, {
      users: [...people],
      adapters: [{ name: 'Far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
      config: {
        outbound: { allow: [far.authority] },
        approvals: [
          { name: 'writes', when: { routes: ['restCall'], methods: ['POST'] }, approvers },
          { name: 'acts', when: { adapters: ['Far'] }, approvers, covers: 'batch' },
        ],
      },
    });
    browser = await startChromium(owner);
    ann = createGateway({ baseUrl: gateway.url, username: 'ann', password: testPassword });
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  const open = async (id: string, user: string, width = 1280): Promise<Page> =>
    await openPage(browser, gateway.url, `/approvals/${id}`, { user, width });

  /** Starts an automation of ann, and waits until people are asked: the id of the approval. */
  async function asked(workflow: string, name: string, input: object): Promise<string> {
    const automation = await addAutomation(ann, workflow, { name, data: {} });
    const { id: run } = (await ann.runAutomation({ path: { id: automation }, body: { input: { ...input } } })).value;
    return await until('people are asked', async () => (await ann.listApprovals({ query: { run } })).value.list[0]?.id);
  }

  test('offers no grant while a part of the call is hidden, and shows each invisible character and each space', async () => {
    const { send, needed } = approvalCaller(() => gateway);
    const body = { filler: 'x'.repeat(190_000), hidden: 'a\u3164b\u2800c\u00add\u034fe', last: 'the end' };
    const call = {
      uri: `${far.url}/x`,
      verb: 'POST',
      user: 'a\u3164',
      password: 'p',
      headers: { 'X-Note': 'two  spaces' },
      responseHeaders: false,
      body,
    };
    const id = needed(await send('ann', 'POST', '/tools/restCall', call, { 'Approval-Reason': 'because' }));
    const page = await open(id, 'lea', 360);
    await shows(page, /You may grant once you have all of it[\s\S]*140,\d{3} characters of the call/u);
    assert.equal(await page.getByRole('radio', { name: /^Grant/u }).count(), 0, 'a part is hidden');
    assert.equal(await page.getByRole('radio', { name: /^Reject/u }).count(), 1);
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByRole('button', { name: 'Show all of it' }).click();
    await page.getByRole('radio', { name: /^Grant/u }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'FIELDSET', 'the focus is at the decision');
    const shown = page.getByRole('group', { name: 'The call' });
    const text = (await shown.textContent()) ?? '';
    assert.ok(text.includes(body.filler));
    assert.match(text, /"hidden": "a⟨U\+3164⟩b⟨U\+2800⟩c⟨U\+00AD⟩d⟨U\+034F⟩e",\s+"last": "the end"\s+\}$/u);
    assert.match((await page.locator('dl').allTextContents()).join(), /a⟨U\+3164⟩/u);
    assert.match(await page.locator('main').innerText(), /5 characters of the call would be invisible[\s\S]*two {2}spaces/u);
    // No box of the call scrolls: what is in it is on the page.
    const cut = await shown.evaluate((element) => element.scrollHeight > element.clientHeight + 1);
    assert.equal(cut, false);
    await page.context().close();
  });

  test('says who asks through which automation, who is involved, and why the viewer may not decide', async () => {
    const id = await asked(one, 'Reboot a router', { device: 'R7' });
    const page = await open(id, 'lea');
    await shows(page, /ann asks for it, through the automation Reboot a router with the workflow noc\.one/u);
    await shows(
      page,
      /You may decide this[\s\S]*ann\s+started the run, wrote the automation, stored a workflow that it runs\s+no, involved/u,
    );
    assert.deepEqual(await axeFindings(page), []);
    await page.context().close();
    for (const [user, wanted] of [
      ['ann', /You may not decide this\. You ask for it yourself\.|You may not decide this\. You are involved\./u],
      ['bob', /You may decide this/u],
    ] as const) {
      const other = await open(id, user);
      await shows(other, wanted);
      assert.equal(await other.getByRole('form', { name: 'Decide' }).count(), user === 'bob' ? 1 : 0);
      await other.context().close();
    }
    const list = await openPage(browser, gateway.url, '/approvals', { user: 'lea', width: 360 });
    await shows(list, /of them you may decide[\s\S]*POST Far act/u);
    assert.deepEqual([await axeFindings(list), await scrollsSideways(list)], [[], false]);
    await list.context().close();
  });

  test('says of a batch what one decision covers, with all of its items', async () => {
    const id = await asked(many, 'Reboot all routers', { devices: ['R1', 'R2', { name: 'R3\u202e' }] });
    const page = await open(id, 'lea', 360);
    await shows(
      page,
      /one decision for the calls of 3 items, of which one call is shown[\s\S]*covers POST calls to Far from the same task/u,
    );
    await shows(page, /0 {2}"R1"\s+1 {2}"R2"\s+2 {2}\{"name":"R3⟨U\+202E⟩"\}/u);
    assert.deepEqual([await axeFindings(page), await scrollsSideways(page)], [[], false]);
    await page.getByRole('radio', { name: /^Grant: the calls of all 3 items/u }).check();
    await page.getByLabel('Reason').fill('planned');
    await page.getByRole('button', { name: 'Decide' }).click();
    await shows(page, /granted by lea[\s\S]*planned/u);
    await until('the calls of all items', async () => far.requests.length >= 3);
    await page.context().close();
  });
});
