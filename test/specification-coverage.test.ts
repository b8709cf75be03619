import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const root = new URL('..', import.meta.url);
const page = readFileSync(new URL('docs/reference/specification-coverage.md', root), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && line !== '| specification | held by |')
  .map((line) => line.slice(2, -2).split(' | '));
const citations = rows.flatMap(([, held = '']) =>
  held.split('<br>').flatMap((cell) => {
    const [, file, title] = /^`([^`]+\.test\.ts)` (.+)$/.exec(cell) ?? [];
    return file === undefined || title === undefined ? [] : [{ file, title: withoutRow(title) }];
  }),
);

function withoutRow(title: string): string {
  return title.replace(/^R\d+: /, '');
}

/** The titles of suites and tests in a file, in its order, with `…` for what varies, without the rows of docs/security.md. */
function titlesIn(file: string): readonly string[] {
  const source = readFileSync(new URL(file, root), 'utf8');
  const calls = source.matchAll(/\b(?:describe|suite|test)\(\s*(?:'([^'\n]+)'|`([^`\n]+)`|"([^"\n]+)")/g);
  return [...calls].map(([, single, template, double]) => {
    const title = single ?? double ?? template ?? '';
    return withoutRow(title).replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…');
  });
}

describe('docs/reference/specification-coverage.md', () => {
  test('names tests that exist, each in its suite', () => {
    const missing: string[] = [];
    for (const { file, title } of citations) {
      const titles = existsSync(new URL(file, root)) ? titlesIn(file) : [];
      const [first = '', second] = title.split(' › ');
      const at = titles.indexOf(first);
      const found = at >= 0 && (second === undefined || titles.includes(second, at + 1));
      if (!found) missing.push(`${file}: ${title}`);
    }
    assert.deepEqual(missing, []);
  });

  test('names a test for every line, but where there is nothing to test', () => {
    const without = rows.filter(([, held = '']) => !held.includes('.test.ts` '));
    for (const [line = ''] of without) assert.match(line, /^Left open: /);
    assert.ok(citations.length > 80, `only ${citations.length} citations were read`);
  });
});
