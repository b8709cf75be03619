// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { createGateway } from '../../client/src/gateway.ts';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { noChromium, startChromium } from './chromium.ts';
import { type DemoStage, demoStage } from './demo-stage.ts';
import { type OpenOptions, openPage } from './open-page.ts';
import { goToPage, type Person, personWithKeyboard, personWithMouse } from './person.ts';

// What people come to the console for, against the demo. Each task is done with a mouse, and on a narrow dark screen by keyboard alone.
// Axe judges each state that they pass.

describe('the console', { skip: noChromium }, () => {
  let stage: DemoStage;
  let browser: Browser;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    stage = await demoStage(owner);
    browser = await startChromium(owner);
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  for (const [way, personOf, look] of [
    ['with a mouse', personWithMouse, {}],
    ['by keyboard alone, on a narrow dark screen', personWithKeyboard, { dark: true, width: 360, height: 640 }],
  ] as const) {
    /** Does a task, and closes the page. */
    async function doing(path: string, options: OpenOptions, task: (person: Person, page: Page) => Promise<void>): Promise<void> {
      const page = await openPage(browser, stage.gateway.url, path, { ...look, ...options });
      await task(personOf(page), page);
      await page.context().close();
    }

    async function logIn({ page, sees, write, press }: Person, username: string): Promise<void> {
      const submit = page.getByRole('button', { name: 'Log in' });
      await write(page.getByLabel('User name'), username);
      await write(page.getByLabel('Password'), 'wrong');
      await press(submit);
      await sees(/password/u);
      await write(page.getByLabel('Password'), testPassword);
      await press(submit);
    }

    test(`takes a person from the first login to the end of a first run, ${way}`, async () => {
      await doing('', {}, async (person, page) => {
        await logIn(person, 'admin-user');
        await person.sees(/Runs by outcome/u);
        await goToPage(person, 'Automations');
        await person.sees(/Bring up a VPN/u);
        await person.press(page.getByRole('link', { name: 'Bring up a VPN' }));
        await person.sees(/Run now/u);
        await person.press(page.getByRole('button', { name: 'Run', exact: true }));
        await person.sees(/✓\s*completed[\s\S]*createVpn[\s\S]*Output/u);
        assert.match(await page.locator('.last-change').innerText(), /POST \/automation_catalog\/automations\/\w+\/run → 201/u);
        await person.press(page.getByRole('button', { name: 'Hide' }));
        await person.sees(/Timeline/u);
      });
    });

    test(`lets a new engineer make a nightly check of all devices in five minutes, ${way}`, async () => {
      const begin = performance.now();
      const name = `Check all devices, ${way}`;
      await doing('', {}, async (person, page) => {
        await logIn(person, 'admin-user');
        await goToPage(person, 'Automations');
        await person.sees(/Nightly check-sync/u);
        await person.press(page.getByRole('link', { name: 'New automation' }));
        await person.sees(/What it does/u);
        await person.write(page.getByLabel('Name (required)'), name);
        await person.choose(page.getByLabel('Workflow'), 'Nightly check-sync');
        await person.pick(page.getByRole('radio', { name: /^At set times/u }));
        await person.choose(page.getByLabel('How often'), 'every weekday');
        await person.sees(/It runs next[\s\S]*02:00 UTC[\s\S]*02:00 UTC[\s\S]*02:00 UTC[\s\S]*02:00 UTC[\s\S]*02:00 UTC/u);
        await person.choose(page.getByLabel('How often'), 'every day');
        await person.press(page.getByRole('button', { name: 'Create the automation' }));
        await person.sees(/every day at 02:00, UTC[\s\S]*It has not run yet/u);
        await person.press(page.getByRole('button', { name: 'Run', exact: true }));
        await person.sees(/✓\s*completed/u);
        assert.doesNotMatch(await page.locator('main').innerText(), /undefined|NaN/u);
      });
      const [made] = (await stage.admin.listAutomations({ query: { equals: name } })).value.list;
      assert.deepEqual([made?.data?.cron, made?.data?.workflowId], ['0 2 * * *', 'demo.nightly-check-sync']);
      assert.ok(performance.now() - begin < 300_000);
    });

    test(`lets a person see who changed an automation, and undo it, ${way}`, async () => {
      const id = stage.automations.get('Bring up a VPN') ?? '';
      const { text: before } = await stage.admin.readAutomation({ path: { id } });
      const kim = createGateway({ baseUrl: stage.gateway.url, username: 'kim', password: testPassword });
      await kim.patchAutomation({ path: { id }, body: { data: { input: { vpn: 'wrong' }, cron: '0 4 * * *' } } });
      await doing('/automations', {}, async (person, page) => {
        await logIn(person, 'admin-user');
        await person.sees(/Bring up a VPN/u);
        await person.press(page.getByRole('link', { name: 'Bring up a VPN' }));
        await person.sees(/every day at 04:00, UTC/u);
        await person.press(page.getByRole('link', { name: 'History' }));
        await person.sees(/kim\s+changed[\s\S]*Schedule[\s\S]*\+ every day at 04:00, UTC/u);
        await person.press(page.getByRole('button', { name: 'Put this back' }).first());
        await person.press(page.getByRole('dialog').getByRole('button', { name: 'Put this back' }));
        await person.sees(/No schedule: it runs when a person runs it/u);
        assert.match(await page.locator('.last-change').innerText(), /PUT \/automation_catalog\/automations\/\w+ → 200/u);
      });
      const { text: after } = await stage.admin.readAutomation({ path: { id } });
      const plain = (text: string): string => text.replace(/"(?:lastUpdated|scheduledBy)":"[^"]*",?/gu, '');
      assert.equal(plain(after), plain(before));
    });

    test(`lets an approver read what a change would do, and grant it, ${way}`, async () => {
      const id = await stage.renaming('ce0', `${'width' in look ? 'oslo' : 'bergen'}-edge`);
      await doing(`/approvals/${id}`, {}, async (person, page) => {
        await logIn(person, 'lea');
        await person.sees(
          /PUT restconf[\s\S]*"(?:oslo|bergen)-edge"[\s\S]*What it would change\s*hostname (?:oslo|bergen)-edge/u,
        );
        await person.pick(page.getByRole('radio', { name: /^Reject/u }));
        await person.pick(page.getByRole('radio', { name: /^Grant/u }));
        await person.write(page.getByLabel('Reason'), 'read it');
        await person.press(page.getByRole('button', { name: 'Decide' }));
        await person.sees(/by lea[\s\S]*read it/u);
        await goToPage(person, 'Approvals');
        await person.sees(/Nothing waits for an approval/u);
      });
      await until('the change', async () => (await stage.admin.readApproval({ path: { id } })).value.status === 'used');
    });

    test(`finds who touched a device yesterday, ${way}`, async () => {
      await stage.run('Bring up a VPN', { vpn: 'beta', devices: ['ce6'] });
      const [record] = (await stage.admin.listAudit({ query: { address: 'ce6', limit: 1 } })).value.list;
      await doing('', { role: 'admin' }, async (person, page) => {
        await page.clock.setFixedTime(Date.parse(record?.time ?? '') + 86_400_000);
        await goToPage(person, 'Audit');
        await person.sees(/POST \/login/u);
        const range = page.locator('.range > summary');
        await person.press(range);
        await person.press(page.getByRole('button', { name: 'Yesterday' }));
        await person.write(page.getByLabel('Part of the path'), 'ce6');
        await person.press(page.getByRole('button', { name: 'Filter' }));
        await person.sees(/admin-user[\s\S]*device=ce6\/check-sync[\s\S]*run restAction/u);
        assert.doesNotMatch(await page.locator('table').innerText(), /login|ce22/u);
        assert.equal(new URL(page.url()).searchParams.get('address'), 'ce6');
        await person.press(range);
        await person.press(page.getByRole('button', { name: 'Today' }));
        await person.sees(/No record fits/u);
      });
    });

    test(`lets an admin recover a run whose call has an unknown outcome, ${way}`, async () => {
      const run = await stage.suspended();
      await doing('', { role: 'admin' }, async (person, page) => {
        await person.sees(/Decide about a call whose outcome is unknown/u);
        await person.press(page.locator(`main a[href$="${run}"]`));
        await person.sees(/It is unknown whether this call happened/u);
        await person.pick(page.getByRole('radio', { name: /^Do it again/u }));
        await person.pick(page.getByRole('radio', { name: /^It happened/u }));
        await person.write(page.getByLabel('Reason'), 'the ticket is there');
        await person.write(page.getByLabel(/^Output of the task/u), '{"number":18446744073709551615}');
        await person.press(page.getByRole('button', { name: 'Decide' }));
        await person.sees(/✓\s*completed[\s\S]*"ticket": 18446744073709551615/u);
      });
    });
  }
});
