import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { axeFindings } from './axe.ts';

/** Somebody who uses the console, with a mouse or by the keyboard alone. */
export interface Person {
  readonly page: Page;
  /** A link or a button. */
  readonly press: (target: Locator) => Promise<void>;
  readonly write: (target: Locator, text: string) => Promise<void>;
  /** A radio button. */
  readonly pick: (target: Locator) => Promise<void>;
  /** An option of a list, by the beginning of its text. */
  readonly choose: (target: Locator, text: string) => Promise<void>;
  /** Waits for a text, and judges the page that has it: axe, the focus, the width. */
  readonly sees: (wanted: RegExp) => Promise<void>;
}

export function personWithMouse(page: Page): Person {
  return judging(page, {
    press: (target) => target.click(),
    write: (target, text) => target.fill(text),
    pick: (target) => target.check(),
    async choose(target, text) {
      const option = target.locator('option').filter({ hasText: text }).first();
      await option.waitFor({ state: 'attached' });
      await target.selectOption((await option.getAttribute('value')) ?? '');
    },
  });
}

/** Opens a page by the navigation, which a narrow screen hides behind a button. */
export async function goToPage({ page, press }: Person, title: string): Promise<void> {
  const menu = page.getByRole('button', { name: 'Menu', exact: true });
  const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: title, exact: true });
  await page.locator('.console > header').waitFor();
  if (await menu.isVisible()) await press(menu);
  await press(link);
}

/** A page that was just opened has the focus nowhere; after the first action it never gets lost. */
function judging(page: Page, acts: Pick<Person, 'choose' | 'press' | 'write' | 'pick'>): Person {
  let hasActed = false;
  const noticed = <Given extends readonly unknown[]>(act: (...given: Given) => Promise<void>) => {
    return (...given: Given): Promise<void> => {
      hasActed = true;
      return act(...given);
    };
  };
  return {
    page,
    press: noticed(acts.press),
    write: noticed(acts.write),
    pick: noticed(acts.pick),
    choose: noticed(acts.choose),
    async sees(wanted) {
      await until(String(wanted), async () => wanted.test(await page.locator('main').innerText()));
      await until('nothing loads', async () => (await page.locator('.loading').count()) === 0);
      const hasFocus = (): Promise<boolean> => page.evaluate(() => document.activeElement !== document.body);
      if (hasActed) await until(`the focus is somewhere: ${wanted}`, hasFocus);
      assert.deepEqual(await axeFindings(page), [], String(wanted));
      assert.equal(await scrollsSideways(page), false, `${wanted}: the page scrolls sideways`);
    },
  };
}

export function personWithKeyboard(page: Page): Person {
  const reach = async (target: Locator): Promise<void> => {
    await target.first().waitFor();
    const hasFocus = (): Promise<boolean> =>
      target.evaluateAll((elements) => elements.some((element) => element === document.activeElement));
    for (let keys = 0; !(await hasFocus()); keys += 1) {
      assert.ok(keys < 300, `no Tab reaches ${String(target)}`);
      await page.keyboard.press('Tab');
    }
    assert.ok(await isOutlined(page), `${String(target)} does not show its focus`);
  };
  return judging(page, {
    async press(target) {
      await reach(target);
      await page.keyboard.press('Enter');
    },
    async write(target, text) {
      await reach(target);
      await page.keyboard.press('Control+A');
      await page.keyboard.type(text);
    },
    async choose(target, text) {
      await target.locator('option').filter({ hasText: text }).first().waitFor({ state: 'attached' });
      await reach(target);
      const chosen = (): Promise<string> => target.evaluate((list: HTMLSelectElement) => list.selectedOptions[0]?.text ?? '');
      await page.keyboard.press('Home');
      for (let keys = 0; !(await chosen()).startsWith(text); keys += 1) {
        assert.ok(keys < 50, `no arrow key reaches the option ${text}`);
        await page.keyboard.press('ArrowDown');
      }
    },
    async pick(target) {
      // Tab goes to the first button of a group, and the arrows to the others.
      const name = await target.getAttribute('name');
      await reach(page.locator(`input[type=radio][name="${name}"]`));
      for (let keys = 0; !(await target.isChecked()); keys += 1) {
        assert.ok(keys < 10, 'no arrow key reaches the radio button');
        await page.keyboard.press('ArrowDown');
      }
    },
  });
}

async function isOutlined(page: Page): Promise<boolean> {
  return await page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement ?? document.body);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
  });
}

export async function scrollsSideways(page: Page): Promise<boolean> {
  return await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}
