// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { testPassword } from '../support/gateway/start-gateway.ts';
import { lapse } from '../support/lapse.ts';
import { until } from '../support/until.ts';
import { axeFindings } from './axe.ts';
import { noChromium, startChromium } from './chromium.ts';
import { shows } from './console-stage.ts';
import { type DemoStage, demoStage } from './demo-stage.ts';
import { editorOf, editorText, pasteText, reachEditor } from './editor.ts';
import { hostile, hostileWorkflow } from './hostile.ts';
import { type OpenOptions, openPage } from './open-page.ts';
import { type Person, personWithKeyboard, personWithMouse } from './person.ts';

// How people write workflows: from a template, by completion, past a problem, from version to version. Each task is done with a mouse, and on a
// narrow dark screen by keyboard alone. Axe judges each state that they pass.

const begun = `document:
  dsl: '1.0.3'
  namespace: lab
  name: NAME
  version: '1.0.0'
  title: A workflow of a test
do:
  - first:
      set: { a: 1 }
  - second:
      wait: { milliseconds: 5 }
`;

describe('the editor of workflows', { skip: noChromium }, () => {
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

  function open(path: string, options: OpenOptions = {}): Promise<Page> {
    return openPage(browser, stage.gateway.url, path, { role: 'admin', ...options });
  }

  const store = (name: string, change = (text: string): string => text): Promise<unknown> =>
    stage.admin.createWorkflow({ rawBody: change(begun.replace('NAME', name)), contentType: 'application/yaml' });

  for (const [way, personOf, look] of [
    ['with a mouse', personWithMouse, {}],
    ['by keyboard alone, on a narrow dark screen', personWithKeyboard, { dark: true, width: 360, height: 640 }],
  ] as const) {
    const short = way.startsWith('with') ? 'mouse' : 'keys';
    async function doing(path: string, task: (person: Person, page: Page) => Promise<void>): Promise<void> {
      const page = await open(path, look);
      await task(personOf(page), page);
      await page.context().close();
    }
    async function reach(page: Page): Promise<void> {
      if (short === 'keys') await reachEditor(page);
      else await editorOf(page).click();
    }

    test(`lets a person write a workflow from a template, mend its problem and store it, ${way}`, async () => {
      await doing('/workflows', async (person, page) => {
        await person.press(page.getByRole('link', { name: 'New workflow' }));
        await person.sees(/Begin with/u);
        await person.write(page.getByLabel('Title'), 'Check each');
        await person.write(page.getByLabel('Name', { exact: true }), `check-${short}`);
        await person.pick(page.getByRole('radio', { name: /^Check each device/u }));
        await person.press(page.getByRole('button', { name: 'Open the editor' }));
        await editorOf(page).waitFor();
        await person.sees(/No problems\.[\s\S]*eachDevice\s*for/u);
        await reach(page);
        await pasteText(page, begun.replace('NAME', `check-${short}`).replace('milliseconds', 'miliseconds'));
        await person.sees(/2 errors, 0 warnings\.[\s\S]*did you mean "milliseconds"/u);
        // A draft with errors is drawn too.
        await person.sees(/first\s*set[\s\S]*second\s*wait/u);
        await person.press(page.getByRole('button', { name: /^11:15,/u }));
        await page.keyboard.press('Control+Delete');
        await page.keyboard.insertText('milliseconds');
        await person.sees(/No problems\./u);
        await person.press(page.getByRole('button', { name: 'Store this version' }));
        await page.waitForURL(new RegExp(`/workflows/lab\\.check-${short}\\?version=1\\.0\\.0&view=edit$`, 'u'));
        await person.sees(/As it is stored/u);
        assert.equal(await page.locator('h1').textContent(), 'A workflow of a test');
      });
      const { value } = await stage.admin.readWorkflow({
        path: { id: `lab.check-${short}` },
        headers: { Accept: 'application/json' },
      });
      assert.equal(value.document.version, '1.0.0');
    });

    test(`offers what can be written at a place, and takes what a person chooses, ${way}`, async () => {
      await store(`offers-${short}`);
      await doing(`/workflows/lab.offers-${short}?view=edit`, async (person, page) => {
        await person.sees(/No problems/u);
        await reach(page);
        await page.keyboard.press('Control+End');
        const list = page.locator('.cm-tooltip-autocomplete');
        const choose = async (typed: string, wanted: RegExp): Promise<void> => {
          await page.keyboard.type(typed);
          const option = list.getByRole('option', { name: wanted });
          await option.waitFor();
          for (let keys = 0; (await option.getAttribute('aria-selected')) !== 'true'; keys += 1) {
            assert.ok(keys < 40, `${wanted} is not offered`);
            await page.keyboard.press('ArrowDown');
          }
          // The list takes no key in its first moments, lest a person who types takes an option by accident.
          await lapse(100, 'CodeMirror waits 75 ms before it takes Enter');
          await page.keyboard.press('Enter');
        };
        await page.keyboard.insertText('  - ask:\n      ');
        await choose('ca', /^call/u);
        await choose('orchestratorQ', /^orchestratorQuery/u);
        await page.keyboard.insertText('\n      with:\n        ');
        await choose('ad', /^adapter/u);
        await choose('Loc', /^Local NSO/u);
        await page.keyboard.insertText('\n        params:\n          accept: application/json\n          ');
        await choose('pa', /^path/u);
        await choose('check-s', /check-sync/u);
        await page.keyboard.insertText('\n      output:\n        as: ');
        await choose('$inp', /^\$input/u);
        await person.sees(/No problems/u);
        assert.match(
          await editorText(page),
          / {6}call: orchestratorQuery\n {6}with:\n {8}adapter: Local NSO\n[\s\S]*path: restconf\/data\/tailf-ncs:devices\/check-sync\n {6}output:\n {8}as: \$input/u,
        );
        // Undone step by step.
        for (let keys = 0; keys < 40; keys += 1) await page.keyboard.press('Control+Z');
        await person.sees(/As it is stored/u);
      });
    });

    test(`keeps what a person typed, until the person discards it or stores another version, ${way}`, async () => {
      await store(`draft-${short}`);
      await doing(`/workflows/lab.draft-${short}?view=edit`, async (person, page) => {
        await person.sees(/No problems/u);
        await reach(page);
        await pasteText(page, begun.replace('NAME', `draft-${short}`).replace('a: 1', 'a: 2'));
        await person.sees(/Not stored yet: kept in this tab/u);
        await person.press(page.getByRole('link', { name: 'Graph' }));
        await person.sees(/Edit \(not stored yet\)/u);
        // The browser asks before a tab with a draft is closed or loaded again.
        const asked: string[] = [];
        page.on('dialog', (dialog) => {
          asked.push(dialog.type());
          void dialog.accept();
        });
        await page.reload();
        assert.deepEqual(asked, ['beforeunload']);
        await shows(page, /Edit \(not stored yet\)/u);
        await person.press(page.getByRole('link', { name: 'Edit (not stored yet)' }));
        await editorOf(page).waitFor();
        assert.match(await editorText(page), /a: 2/u);
        // A stored version never changes.
        await person.press(page.getByRole('button', { name: 'Make it 1.0.1' }));
        await person.sees(/No problems/u);
        assert.match(await editorText(page), /version: "1\.0\.1"/u);
        await person.press(page.getByRole('button', { name: 'Store this version' }));
        await page.waitForURL(/version=1\.0\.1/u);
        await person.sees(/1\.0\.1, one of 2[\s\S]*As it is stored/u);
        await reach(page);
        await pasteText(page, 'nonsense');
        await person.sees(/Not stored yet/u);
        await person.press(page.getByRole('button', { name: 'Discard changes' }));
        await person.press(page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }));
        await person.sees(/As it is stored/u);
        await until('the stored text', async () => /a: 2/u.test(await editorText(page)));
        // What was discarded by mistake comes back.
        await page.keyboard.press('Control+Z');
        await person.sees(/Not stored yet/u);
        await page.keyboard.press('Control+Y');
        await person.sees(/As it is stored/u);
        asked.length = 0;
        await page.reload();
        assert.deepEqual(asked, []);
      });
    });

    test(`runs a text once as a version for development, ${way}`, async () => {
      await store(`tried-${short}`);
      await doing(`/workflows/lab.tried-${short}?view=edit`, async (person, page) => {
        await person.sees(/No problems/u);
        await reach(page);
        await pasteText(page, begun.replace('NAME', `tried-${short}`).replace('a: 1', 'a: 7'));
        await person.sees(/No problems[\s\S]*Version 1\.0\.0 is stored/u);
        await person.press(page.getByText('Try it', { exact: true }));
        await person.sees(/for development, such as 1\.0\.1-dev\.1/u);
        await person.press(page.getByRole('button', { name: 'Try this text' }));
        await page.waitForURL(/\/runs\/[^/]+$/u);
        await person.sees(/completed/u);
      });
      const { list } = (await stage.admin.listRuns({ query: { workflow: `lab.tried-${short}` } })).value;
      assert.deepEqual(
        list.map(({ version }) => version),
        ['1.0.1-dev.1'],
      );
    });

    test(`shows what differs between two versions, and deletes one after a question, ${way}`, async () => {
      await store(`diff-${short}`);
      await store(`diff-${short}`, (text) => text.replace('1.0.0', '1.1.0').replace('a: 1', 'a: 2'));
      await store(`diff-${short}`, (text) => text.replace('1.0.0', '2.0.0-rc.1').replace('a: 1', 'a: 3'));
      await doing(`/workflows/lab.diff-${short}`, async (person, page) => {
        await person.press(page.getByRole('link', { name: 'Versions' }));
        await person.sees(/- +set: \{ a: 2 \}\n.*\+ +set: \{ a: 3 \}/u);
        await page.getByLabel('To', { exact: true }).selectOption('1.1.0');
        await page.getByLabel('From', { exact: true }).selectOption('1.0.0');
        await person.sees(/- +set: \{ a: 1 \}\n.*\+ +set: \{ a: 2 \}/u);
        assert.match(page.url(), /from=1\.0\.0&to=1\.1\.0/u);
        const row = page.getByRole('row').filter({ hasText: '2.0.0-rc.1' });
        assert.match(await row.innerText(), /for development/u);
        await person.press(row.getByRole('button', { name: 'Delete' }));
        await person.press(page.getByRole('dialog').getByRole('button', { name: 'Delete' }));
        await until(
          'the version is gone',
          async () => (await page.getByRole('row').filter({ hasText: '2.0.0-rc.1' }).count()) === 0,
        );
        await person.press(page.getByRole('button', { name: 'Delete all versions' }));
        await person.press(page.getByRole('dialog').getByRole('button', { name: 'Delete all versions' }));
        await page.waitForURL(/\/workflows$/u);
        await person.sees(/Bring up a VPN/u);
      });
    });

    test(`draws a workflow that a person reads, enlarges and walks through, ${way}`, async () => {
      await doing('/workflows/demo.bring-up-vpn?view=edit', async (person, page) => {
        await person.sees(/prepareDevices\s*for\s*each device in \.devices[\s\S]*createVpn\s*call/u);
        await person.press(page.getByRole('button', { name: 'Zoom in' }));
        await person.press(page.getByRole('button', { name: 'Fit' }));
        const task = page.getByRole('button', { name: /^prepareDevices/u });
        await person.press(task);
        // The cursor of the editor is at the task.
        await until('the editor has the focus', () =>
          page.evaluate(() => document.activeElement?.classList.contains('code-editor') === true),
        );
        assert.match(await page.locator('.code-editor .cm-activeLine').innerText(), /prepareDevices/u);
        await task.focus();
        await page.keyboard.press('ArrowDown');
        const named = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');
        assert.match(await named(), /^checkSync/u);
        await page.keyboard.press('End');
        assert.match(await named(), /^readVpn/u);
        await page.keyboard.press('+');
        await person.press(page.getByText('The steps in words'));
        await person.sees(/prepareDevices for: each device in \.devices\.\s*In it:/u);
      });
    });
  }

  test('a person who may only read sees graph, document and versions, and which right is missing', async () => {
    const page = await open('/workflows', { role: 'readonly' });
    await shows(page, /You may not store workflows\. The roles admin and engineering may[\s\S]*createWorkflow/u);
    await page.getByRole('link', { name: 'Bring up a VPN' }).click();
    await shows(page, /prepareDevices/u);
    await page.getByRole('link', { name: 'Document' }).click();
    await shows(page, /You may not store a version of this workflow[\s\S]*# Brings up a layer 3 VPN/u);
    await page.getByRole('link', { name: 'Versions' }).click();
    await shows(page, /You may not delete this workflow/u);
    assert.equal(await page.getByRole('button', { name: /Delete|Store|Try/u }).count(), 0);
    assert.equal(await page.getByRole('link', { name: /Edit|New workflow/u }).count(), 0);
    await page.context().close();
  });

  test('hostile text is text in the editor, in its problems and in the graph', async () => {
    await stage.admin.createWorkflow({ rawBody: hostileWorkflow, contentType: 'application/yaml' });
    const page = await open('/workflows/hostile.text?view=edit');
    await shows(page, /0 errors, \d+ warnings?/u);
    await pasteText(page, hostileWorkflow.replace('do:', `${JSON.stringify(hostile)}: 1\ndo:`));
    await shows(page, /1 error[\s\S]*⟨U\+202E⟩/u);
    assert.match(await editorOf(page).innerText(), /⟨U\+202E⟩/u);
    const made = await page.evaluate(() => {
      const root = document.querySelector('.code-editor')?.shadowRoot;
      return [...(root?.querySelectorAll('img:not(.cm-widgetBuffer), script, style, iframe, a') ?? [])].map(
        ({ outerHTML }) => outerHTML,
      );
    });
    assert.deepEqual(made, []);
    assert.match(await page.title(), /Orchestration Gateway/u);
    await page.keyboard.press('F8');
    assert.deepEqual(await axeFindings(page), []);
    await page.context().close();
  });

  test('JSON is completed with quotes, judged at its place, and stored byte for byte', async () => {
    const page = await open('/workflows/new');
    await page.getByLabel('Name', { exact: true }).fill('in-json');
    await page.getByRole('button', { name: 'Open the editor' }).click();
    const head = '{ "document": { "dsl": "1.0.3", "namespace": "lab", "name": "in-json", "version": "1.0.0" },\n';
    await pasteText(page, `${head}  "do": [{ "big": { "set": { "n": 18446744073709551615 }, `);
    await page.keyboard.type('"outp');
    await page.locator('.cm-tooltip-autocomplete').getByRole('option', { name: 'output' }).waitFor();
    await lapse(100, 'CodeMirror waits 75 ms before it takes Enter');
    await page.keyboard.press('Enter');
    assert.match(await editorText(page), /"output": /u);
    const whole = `${head}  "do": [{ "big": { "set": { "n": 18446744073709551615 }, "output": { "az": "." } } }] }`;
    await pasteText(page, whole);
    await shows(page, /error\s*2:71\s*is unknown here; did you mean "as"/u);
    await pasteText(page, whole.replace('"az"', '"as"'));
    await shows(page, /No problems/u);
    await page.getByRole('button', { name: 'Store this version' }).click();
    await page.waitForURL(/in-json\?version/u);
    const { text } = await stage.admin.readWorkflow({ path: { id: 'lab.in-json' } });
    assert.equal(text, whole.replace('"az"', '"as"'));
    await page.context().close();
  });

  test('a second person who stores the version first loses nothing, and the other one reads why', async () => {
    const page = await open('/workflows/new?view=edit');
    await page.getByLabel('Name', { exact: true }).fill('raced');
    await page.getByRole('button', { name: 'Open the editor' }).click();
    await pasteText(page, begun.replace('NAME', 'raced'));
    await shows(page, /No problems/u);
    await store('raced', (text) => text.replace('a: 1', 'a: 9'));
    await page.getByRole('button', { name: 'Store this version' }).click();
    await shows(page, /Version 1\.0\.0 was stored meanwhile[\s\S]*a: 9/u);
    assert.match(await editorText(page), /a: 1/u);
    await page.context().close();
  });

  test('a session that ends keeps the text for the same person, and shows it to no other', async () => {
    const page = await open('/workflows/new');
    await page.getByLabel('Name', { exact: true }).fill('kept');
    await page.getByRole('button', { name: 'Open the editor' }).click();
    await pasteText(page, begun.replace('NAME', 'kept'));
    await shows(page, /No problems/u);
    await page.context().clearCookies();
    await page.keyboard.type(' ');
    await shows(page, /session has ended/u);
    const logIn = async (username: string): Promise<void> => {
      await page.getByLabel('User name').fill(username);
      await page.getByLabel('Password').fill(testPassword);
      await page.getByRole('button', { name: 'Log in' }).click();
    };
    await logIn('engineering-user');
    await shows(page, /Begin with/u);
    assert.doesNotMatch(await page.locator('main').innerText(), /not stored your last one/u);
    await page.getByRole('button', { name: 'Log out' }).click();
    await logIn('admin-user');
    await editorOf(page).waitFor();
    assert.match(await editorText(page), /name: kept/u);
    await page.context().close();
  });

  test('a hundred tasks are drawn and printed, and the page does not scroll sideways', async () => {
    const tasks = Array.from({ length: 100 }, (_, at) => `  - task${at}: { set: { a: ${at} } }`).join('\n');
    const rawBody = `document: { dsl: '1.0.3', namespace: lab, name: hundred, version: '1.0.0' }\ndo:\n${tasks}\n`;
    await stage.admin.createWorkflow({ rawBody, contentType: 'application/yaml' });
    const page = await open('/workflows/lab.hundred');
    await shows(page, /task99/u);
    assert.equal(await page.locator('.graph-box.of-task').count(), 100);
    // One stop for Tab.
    assert.equal(await page.locator('.graph-box.of-task[tabindex="0"]').count(), 1);
    const box = await page.locator('.graph-box.of-task').first().boundingBox();
    assert.ok(box !== null && box.height >= 40 && box.width >= 180, JSON.stringify(box));
    const view = page.locator('.graph-view');
    await view.hover({ position: { x: 20, y: 200 } });
    await page.mouse.down();
    await page.mouse.move(400, 200, { steps: 4 });
    await page.mouse.up();
    assert.ok((await view.evaluate(({ scrollTop }) => scrollTop)) > 0, 'a mouse pulls the drawing');
    await page.emulateMedia({ media: 'print' });
    const printed = await page.evaluate(() => {
      const last = [...document.querySelectorAll('.graph-box.of-task')].at(-1)?.getBoundingClientRect();
      const { overflow } = getComputedStyle(document.querySelector('.graph-view') ?? document.body);
      const { display } = getComputedStyle(document.querySelector('.graph-tools') ?? document.body);
      return { overflow, display, bottom: last?.bottom ?? 0, height: document.documentElement.scrollHeight };
    });
    assert.deepEqual([printed.overflow, printed.display], ['visible', 'none']);
    assert.ok(printed.bottom > 5_000 && printed.height >= printed.bottom - 1, JSON.stringify(printed));
    await page.context().close();
  });

  test('the editor and the graph come when their page opens, and take at most 220 kB', async () => {
    const page = await open('/workflows');
    await shows(page, /Bring up a VPN/u);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Network.enable');
    let bytes = 0;
    const names: string[] = [];
    const programs = new Set<string>();
    devtools.on('Network.responseReceived', ({ requestId, response: { url } }) => {
      names.push(new URL(url).pathname);
      if (url.includes('/console/assets/')) programs.add(requestId);
    });
    devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (programs.has(requestId)) bytes += encodedDataLength;
    });
    await page.getByRole('link', { name: 'Bring up a VPN' }).click();
    await shows(page, /prepareDevices/u);
    assert.ok(
      names.some((name) => name.includes('/assets/graph-')),
      names.join(),
    );
    assert.ok(!names.some((name) => name.includes('/assets/code-editor-')), 'the graph alone needs no editor');
    await page.getByRole('link', { name: 'Edit' }).click();
    await editorOf(page).waitFor();
    await shows(page, /No problems/u);
    assert.ok(bytes > 50_000 && bytes <= 220_000, `${bytes} bytes`);
    await page.context().close();
  });
});
