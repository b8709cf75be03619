import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table, withParts } from './made-parts.ts';

test('a page gets the text of each of its made parts, and keeps the rest', () => {
  const page = (one: string, two: string) =>
    `# Page\n\n<!-- made: one -->\n${one}<!-- /made -->\n\nBy hand: \`<!-- made: NAME -->\`.\n\n<!-- made: part two -->\n${two}<!-- /made -->\n`;
  const placed: string[] = [];
  const parts = new Map([
    ['one', '1'],
    ['part two', 'costs $& or $1'],
  ]);
  const made = withParts(page('', 'stale\n\ntext\n'), parts, (name) => placed.push(name));
  assert.equal(made, page('1\n', 'costs $& or $1\n'));
  assert.deepEqual(placed, ['one', 'part two']);
});

test('a page with a part that is not made is refused', () => {
  assert.throws(() => withParts('<!-- made: none -->\n<!-- /made -->', new Map(), () => {}), /no made part "none"/u);
});

test('a cell of a table keeps its bars', () => {
  assert.equal(table(['a', 'b'], [['x|y', 'z']]), '| a | b |\n|---|---|\n| x\\|y | z |');
});
