import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

/** The text of the editor of workflows, which is in a shadow root. */
export function editorOf(page: Page): Locator {
  return page.locator('.code-editor .cm-content');
}

/** What the editor has, without what it only shows. */
export async function editorText(page: Page): Promise<string> {
  const lines = await editorOf(page).locator('.cm-line').allTextContents();
  return lines.join('\n');
}

function hasEditor(page: Page): Promise<boolean> {
  return page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.classList.contains('cm-content') === true);
}

/** Goes to the editor by Tab alone. */
export async function reachEditor(page: Page): Promise<void> {
  await editorOf(page).waitFor();
  for (let keys = 0; !(await hasEditor(page)); keys += 1) {
    assert.ok(keys < 300, 'no Tab reaches the editor');
    await page.keyboard.press('Tab');
  }
}

/** Replaces the whole text, as a person who pastes does. */
export async function pasteText(page: Page, text: string): Promise<void> {
  if (!(await hasEditor(page))) await editorOf(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}
