import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { jsonText, valueOf } from './json-texts.test-support.ts';
import { mergePatch } from './merge-patch.ts';
import { parseExact, parsePlain } from './parse-json.ts';

test('a text that is parsed and written again keeps every digit', () => {
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 30n }).map(String)),
      fc.constantFrom('', '.0', '.10', '.000000000000000000001'),
      fc.constantFrom('', 'e0', 'E+400', 'e-7'),
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(number), fc.dictionary(fc.string(), number), (items, members) => {
      const object = Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
      const text = `[[${items.join()}],{${object.join()}}]`;
      assert.deepEqual(JSON.parse(JSON.stringify(parseExact(text))), JSON.parse(text));
      assert.equal(JSON.stringify(parseExact(`[${items.join()}]`)), `[${items.join()}]`);
    }),
  );
  assert.deepEqual(parseExact('[1,"1.0",null,true]'), [1, '1.0', null, true]);
});

test('a merge patch replaces an exact number, and puts one in the place of an object', () => {
  const merged = (target: string, patch: string): string => JSON.stringify(mergePatch(parseExact(target), parseExact(patch)));
  assert.equal(merged('{"a":1.0,"b":18446744073709551615}', '{"a":2.50}'), '{"a":2.50,"b":18446744073709551615}');
  assert.equal(merged('{"a":{"x":1}}', '{"a":1e400}'), '{"a":1e400}');
  assert.equal(merged('{"a":1e400}', '{"a":{"x":1.0}}'), '{"a":{"x":1.0}}');
});

test('the value of any text is that of its parts', () => {
  fc.assert(fc.property(jsonText, (json) => assert.deepEqual(parsePlain(json.text), valueOf(json))));
});

test('a name of one escape is read as what it means, after an object whose name is a backslash', () => {
  assert.deepEqual(parsePlain('{"a":0,"\\\\":0}'), { a: 0, '\\': 0 });
  assert.deepEqual(parsePlain('{"a":0,"\\u0062":1}'), { a: 0, b: 1 });
});

test('a text that is no JSON is a SyntaxError, and one that is nested too deeply is a RangeError', () => {
  assert.throws(() => parsePlain('{"a":\\}'), SyntaxError);
  assert.throws(() => parsePlain(`${'['.repeat(100_000)}"\\n"${']'.repeat(100_000)}`), RangeError);
});
