import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface Axe {
  run(context: Document, options: object): Promise<AxeResults>;
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on a page, by these rules; absent: by those of WCAG 2.2 AA and of good practice. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const only = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } };
  const options = { ...only, resultTypes: ['violations'], preload: false };
  const { violations } = await page.evaluate(
    async (given) => await (globalThis as unknown as { readonly axe: Axe }).axe.run(document, given),
    options,
  );
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary.slice(0, 300)}`).join(' | ')}`,
  );
}
