import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type JsonText, jsonText } from './json-texts.test-support.ts';
import { type JsonNode, readJsonTree } from './json-tree.ts';

function expected({ kind, text, members, items }: JsonText): JsonNode {
  if (kind === 'object')
    return { kind, members: members.map(({ token, value }) => [JSON.parse(token) as string, expected(value)]) };
  if (kind === 'array') return { kind, items: items.map(expected) };
  if (text === 'null') return { kind: 'null' };
  if (text === 'true' || text === 'false') return { kind: 'boolean', value: text === 'true' };
  return text.startsWith('"') ? { kind: 'string', value: JSON.parse(text) as string } : { kind: 'number', text };
}

test('a tree keeps the order of members, repeated members and all digits', () => {
  fc.assert(
    fc.property(jsonText, (node) => {
      assert.deepEqual(readJsonTree(Buffer.from(` ${node.text} `)), expected(node));
    }),
    { numRuns: 500 },
  );
});

test('a text gives the same tree at any length, and next to characters that are not ASCII', () => {
  fc.assert(
    fc.property(jsonText, fc.constantFrom(0, 5_000), fc.constantFrom('x', 'é', '😀'), ({ text }, spaces, beside) => {
      const read = readJsonTree(Buffer.from(`["${beside}",${' '.repeat(spaces)}${text}]`));
      assert.deepEqual(read, { kind: 'array', items: [{ kind: 'string', value: beside }, readJsonTree(Buffer.from(text))] });
    }),
    { numRuns: 500 },
  );
});
