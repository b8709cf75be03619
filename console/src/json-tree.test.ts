import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonNode, opened, readJson, tableIn } from './json-tree.ts';

const shown = (node: JsonNode | undefined): unknown => {
  if (node === undefined) return undefined;
  if (node.kind === 'value') return node.text;
  return node.kind === 'list' ? node.entries.map(shown) : node.members.map(([name, value]) => [name, shown(value)]);
};

test('a tree keeps the digits of numbers, repeated members and characters of strings', () => {
  assert.deepEqual(shown(readJson('{"a":18446744073709551615,"a":1.0,"b":[true,null,"x\\u0041"],"":{}}')), [
    ['a', '18446744073709551615'],
    ['a', '1.0'],
    ['b', ['true', 'null', '"x\\u0041"']],
    ['', []],
  ]);
  assert.deepEqual(shown(readJson(' 7 ')), '7');
  for (const text of ['', '{', '{"a":}', 'x', '[1,]']) assert.equal(readJson(text), undefined, text);
});

test('a string with the text of an object or an array opens, and any other does not', () => {
  const [value, other] = ['"{\\"n\\":1.0}"', '"{no json"'].map((text) => readJson(text));
  assert.ok(value !== undefined && other !== undefined);
  assert.deepEqual([shown(opened(value)), opened(other)], [[['n', '1.0']], other]);
});

test('a list of objects is a table, at any depth', () => {
  const query = '{"result":[{"instance_data":{"name":"ce0","port":"22"}},{"instance_data":{"name":"ce1"}}]}';
  const table = tableIn(readJson(query) ?? { kind: 'list', entries: [] });
  assert.deepEqual(table?.columns, ['name', 'port']);
  assert.deepEqual(
    table.rows.map((row) => row.map(shown)),
    [
      ['"ce0"', '"22"'],
      ['"ce1"', undefined],
    ],
  );
  const action = '[{"result":"{\\"list\\":[{\\"a\\":1.0}]}"}]';
  assert.deepEqual(tableIn(readJson(action) ?? { kind: 'list', entries: [] })?.columns, ['a']);
  for (const text of ['[]', '[1,2]', '{"a":{"b":1}}', '[{"a":1},2]']) {
    assert.equal(tableIn(readJson(text) ?? { kind: 'list', entries: [] }), undefined, text);
  }
});

test('a deep value is read without recursion', () => {
  const text = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  assert.equal(readJson(text)?.kind, 'list');
});
