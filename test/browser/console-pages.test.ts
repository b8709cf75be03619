// suite: long

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { GatewayError } from '../../client/src/gateway.ts';
import { testPasswordHash } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { NsoNode, yang } from '../support/upstreams/nso-node.ts';
import { httpReply, jsonReply } from '../support/upstreams/upstream.ts';
import { axeFindings } from './axe.ts';
import { noChromium } from './chromium.ts';
import { addAutomation, type ConsoleStage, consoleStage, shows } from './console-stage.ts';
import { hostile, hostileForm, hostilePage, hostileWorkflow } from './hostile.ts';
import { openParts } from './parts-page.ts';
import { scrollsSideways } from './person.ts';

// What holds on every page of the console. Hostile text is in what an upstream, a caller, a device or a name can fill.

/** Each page in light with all rules of axe, wide and narrow, then with those that depend on the look: dark, and at 200 %. */
const looks = [
  { width: 1280, colorScheme: 'light', rules: undefined },
  { width: 1280, colorScheme: 'dark', rules: ['color-contrast'] },
  // 1280 pixels at 200 %.
  { width: 640, colorScheme: 'light', rules: ['target-size', 'scrollable-region-focusable'] },
  { width: 360, colorScheme: 'light', rules: undefined },
  { width: 360, colorScheme: 'dark', rules: ['color-contrast', 'target-size', 'scrollable-region-focusable'] },
] as const;

describe('each page of the console', { skip: noChromium, concurrency: 3 }, () => {
  let stage: ConsoleStage;
  const ids = { automation: '', formed: '', run: '', suspended: '', approval: '', granted: '', previewed: '' };
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    const node = await NsoNode.start(owner, 'rfc8525');
    const device = [{ name: hostile, data: `+ ${hostile}\n- ${hostile}\n` }];
    node.answer = () => jsonReply(JSON.stringify({ 'dry-run-result': { native: { device } } }), { type: yang });
    stage = await consoleStage(owner, {
      adapters: [
        { name: hostile, kind: 'rest', url: 'http://127.0.0.1:9', auth: { type: 'none' } },
        { name: 'NSO', kind: 'nso', url: node.far.url },
      ],
      config: { approvals: [{ name: 'core', when: { paths: ['core/**', '**/core'] }, approvers: { roles: ['engineering'] } }] },
      users: [{ username: hostile, passwordHash: testPasswordHash, roles: ['admin'], groups: [hostile] }],
    });
    await plant();
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  /** Fills the gateway with hostile text. */
  async function plant(): Promise<void> {
    const { admin, far } = stage;
    const body = { name: hostile, data: { description: hostile, gbac: { read: [hostile] }, input: { [hostile]: hostile } } };
    ids.automation = await addAutomation(admin, hostileWorkflow, body);
    await admin.putForm({ path: { id: 'hostile' }, rawBody: JSON.stringify(hostileForm) });
    const formed = { name: 'formed', data: { formId: 'hostile', workflowId: 'hostile.text' } };
    ids.formed = (await admin.createAutomation({ body: formed })).value._id;
    const acts = `
document: { dsl: '1.0.3', namespace: hostile, name: acts, version: '1.0.0' }
do:
  - ${JSON.stringify(hostile)}: { call: orchestratorAction, with: { adapter: Local NSO, params: { path: x, accept: application/json }, body: {} } }
`;
    const started = async (id: string, input: object): Promise<string> =>
      (await admin.runAutomation({ path: { id }, body: { input: { ...input } } })).value.id;
    far.answer((_request, socket) => void socket.destroy());
    ids.suspended = await started(await addAutomation(admin, acts, { name: 'acts', data: {} }), {});
    ids.run = await started(ids.automation, { [hostile]: hostile, list: [hostile] });
    await until('both runs wait', async () => {
      const { list } = (await admin.listRuns({ query: {} })).value;
      return list.some(({ status }) => status === 'suspended') && list.some(({ status }) => status === 'waiting');
    });
    ids.granted = (await admin.listApprovals({ query: { run: ids.run } })).value.list[0]?.id ?? '';
    const approvalOf = async (adapterId: string, path: string): Promise<string> => {
      const call = { params: { path, accept: yang }, body: { hostile } };
      const refused = await admin.restAction({ path: { adapterId }, body: call }).catch((error: unknown) => error);
      assert.ok(refused instanceof GatewayError, String(refused));
      return (refused.problem as { readonly approval?: { readonly id: string } } | undefined)?.approval?.id ?? '';
    };
    ids.approval = await approvalOf(hostile, 'core/a');
    ids.previewed = await approvalOf('NSO', 'restconf/data/core');
    await until('the preview', async () => {
      const { preview } = (await admin.readApproval({ path: { id: ids.previewed } })).value;
      return preview?.text?.includes('<img') === true;
    });
    await stage.gateway.send({
      method: 'POST',
      target: `/approvals/${ids.granted}/reject`,
      role: 'engineering',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ reason: hostile }),
    });
    await until('the run faults', async () => (await admin.readRun({ path: { id: ids.run } })).value.status === 'faulted');
  }

  /** What a page may never do: fail, ask elsewhere, open a dialog, break its policy. */
  function watched(page: Page): readonly string[] {
    const faults: string[] = [];
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(page.url()).origin) faults.push(request.url());
    });
    page.on('dialog', (dialog) => {
      faults.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 40[134]/u.test(message.text())) faults.push(message.text());
    });
    return faults;
  }

  async function judge(page: Page, what: string, { but }: { readonly but?: string } = {}): Promise<void> {
    for (const { width, colorScheme, rules } of looks) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const where = `${what}, ${colorScheme}, ${width} pixels wide`;
      const findings = await axeFindings(page, rules);
      assert.deepEqual(but === undefined ? findings : findings.filter((finding) => !finding.startsWith(but)), [], where);
      assert.equal(await scrollsSideways(page), false, `${where}: the page scrolls sideways`);
    }
    assert.deepEqual(await page.evaluate(foreignParts), [], what);
    assert.deepEqual(await page.evaluate(unseenParts), [], `${what} shows unseen characters as they are stored`);
    assert.deepEqual(await page.evaluate(movingParts), [], `${what} moves, though the person wants less motion`);
    assert.match(await page.title(), /Orchestration Gateway|Parts of the console/u);
  }

  /** The address of each page, below `/console`; `none` is that of no entry. */
  const groups = {
    'of what runs': () => [
      '',
      '/runs',
      `/runs/${ids.run}`,
      `/runs/${ids.suspended}`,
      `/runs/${ids.run}?tasks=failed`,
      '/runs?view=undecided',
      '/runs/none',
      '/runs?status=faulted&workflow=none.such',
    ],
    'of what is stored': () => [
      '/automations',
      `/automations/${ids.automation}`,
      `/automations/${ids.automation}?view=edit`,
      `/automations/${ids.automation}?view=history`,
      `/automations/${ids.formed}`,
      `/automations/${ids.formed}?view=edit`,
      '/automations/new',
      '/automations?view=import',
      '/workflows',
      '/workflows/hostile.text',
      '/workflows/hostile.text?view=edit',
      '/workflows/hostile.text?view=versions',
      '/workflows/none.such',
      '/workflows/new',
      '/approvals?status=any',
      `/approvals/${ids.approval}`,
      `/approvals/${ids.granted}`,
      `/approvals/${ids.previewed}`,
    ],
    'for operators': () => [
      '/adapters',
      `/adapters/${encodeURIComponent(hostile)}`,
      '/explorer',
      '/explorer?kind=restCall',
      `/audit?address=${encodeURIComponent('<img')}`,
      '/audit/none',
      '/notifications',
      '/access',
      '/access?view=you',
      '/access?view=roles',
      `/access?view=leaving&person=${encodeURIComponent(hostile)}`,
      '/access?view=password',
      '/api',
      '/api/restAction',
      `/${encodeURIComponent(hostile)}`,
    ],
  };
  for (const [name, paths] of Object.entries(groups)) {
    test(`${name} has no finding of axe and no markup of others, in each look`, async () => {
      const page = await stage.open('', { role: 'admin' });
      const faults = watched(page);
      for (const path of paths()) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.goto(`${new URL(page.url()).origin}/console${path}`);
        await page.locator('main h1').waitFor();
        await until(path, async () => (await page.locator('.loading').count()) === 0);
        await judge(page, path);
      }
      assert.deepEqual(faults, []);
      await page.context().close();
    });
  }

  test('of a caller without a session is the login, in each look', async () => {
    const page = await stage.open('/runs');
    await judge(page, 'the login');
    await page.context().close();
  });

  test('is made of parts that are right in each state and look', async () => {
    const folder = new URL('../../console/src/', import.meta.url);
    const shown = (await readdir(folder)).filter((name) => name.startsWith('all-parts'));
    const source = (await Promise.all(shown.map((name) => readFile(new URL(name, folder), 'utf8')))).join('');
    for (const name of await readdir(new URL('parts/', folder))) assert.ok(source.includes(name), name);
    const page = await stage.open('', {});
    const faults = watched(page);
    await openParts(page);
    await page.getByRole('button', { name: 'Refused' }).click();
    await page.getByRole('button', { name: 'Busy' }).click();
    await page.getByText('The same call for a program').click();
    // The page repeats parts that a page has once.
    await judge(page, 'the parts', { but: 'landmark-unique' });
    await page.getByRole('button', { name: 'Danger' }).click();
    await page.getByRole('dialog').waitFor();
    await judge(page, 'a question', { but: 'landmark-unique' });
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test('lets a button fade where the person has nothing against motion, and nothing else', async () => {
    const page = await stage.open('', {});
    await openParts(page);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    assert.deepEqual(await page.evaluate(movingParts), ['BUTTON background-color']);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    assert.deepEqual(await page.evaluate(movingParts), []);
    await page.context().close();
  });

  test('of an automation shows each unseen character in the labels of its form, and keeps what is stored in the controls', async () => {
    const page = await stage.open(`/automations/${ids.formed}`, { role: 'admin' });
    const form = page.getByRole('form', { name: 'Run now' });
    await form.waitFor();
    const seen = hostile.replaceAll('\u202e', '⟨U+202E⟩');
    const labels = [`${seen} (required)`, Object.keys(hostileForm.properties)[1], seen, 'pattern'];
    assert.deepEqual(await form.locator('label').allTextContents(), labels);
    const shown = await form
      .locator('input, select, textarea')
      .evaluateAll((controls) => controls.map((control) => (control as HTMLInputElement).value));
    assert.deepEqual(
      shown,
      Object.values(hostileForm.properties).map((field) => [field.default].flat().join('\n')),
    );
    assert.deepEqual(await form.locator('option').allTextContents(), ['–', seen, Object.keys(hostileForm.properties)[1]]);
    assert.equal((await form.getByText('<img src=x onerror=', { exact: false }).count()) > 3, true);
    await page.context().close();
  });

  test('shows a page of an upstream as text', async () => {
    const page = await stage.open('/explorer?kind=restRequest', { role: 'admin' });
    const faults = watched(page);
    stage.far.answer(() =>
      httpReply({ headers: { 'Content-Type': 'text/html', 'X-Hostile': '<img src=x>' }, body: hostilePage }),
    );
    await page.getByLabel('Adapter').selectOption('Local NSO');
    await page.getByLabel('Path').fill('a/b');
    await page.getByRole('button', { name: 'Send' }).click();
    await shows(page, /onload=[\s\S]*⟨U\+202E⟩/u);
    await judge(page, 'the reply of the explorer');
    stage.far.answer(() => jsonReply('{}'));
    assert.deepEqual(faults, []);
    await page.context().close();
  });
});

/** Elements that the console never makes, and links that lead out of it. Runs in the page. */
function foreignParts(): readonly string[] {
  const foreign = [
    // Icons, charts and graphs are the console's own.
    ...document.querySelectorAll(
      'img, svg:not(.icon, .chart, .graph-lines), iframe, object, embed, script:not([src]), style, base, body [onload]',
    ),
  ];
  const links = [...document.querySelectorAll('a')].filter(({ href }) => new URL(href).origin !== location.origin);
  return [...foreign, ...links].map(({ outerHTML }) => outerHTML);
}

/** Texts with a character that turns the text after it round. A control has what was stored. Runs in the page. */
function unseenParts(): readonly string[] {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found: string[] = [];
  while (texts.nextNode() !== null) {
    const { parentElement: parent, textContent: text } = texts.currentNode;
    if (text?.includes('\u202e') === true && parent?.tagName !== 'TEXTAREA') found.push(parent?.outerHTML ?? text);
  }
  return found;
}

/** The elements that fade, move or scroll by degrees, each kind once. Runs in the page. */
function movingParts(): readonly string[] {
  const moving = [...document.querySelectorAll('*')].flatMap((element) =>
    [undefined, '::before', '::after'].flatMap((part) => {
      const { transitionDuration, transitionProperty, animationName, scrollBehavior } = getComputedStyle(element, part);
      const fades = transitionDuration.split(', ').some((duration) => duration !== '0s');
      const isStill = !fades && animationName === 'none' && scrollBehavior === 'auto';
      return isStill ? [] : [`${element.tagName} ${fades ? transitionProperty : animationName}`];
    }),
  );
  return [...new Set(moving)];
}
