import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { jsonText, valueOf } from './json-texts.test-data.ts';
import { parsePlain } from './plain-json.ts';

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
