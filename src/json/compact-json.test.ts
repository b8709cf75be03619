import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compactJson } from './compact-json.ts';

test('a compact text has the digits, escapes and order of members of the text it comes from', () => {
  const text = ' { "b" : 1.50e+02,\r\n\t"a" : [ 18446744073709551615 , "a \\" b \\\\" , "\\u00e9 é  " ] } ';
  assert.equal(compactJson(Buffer.from(text)), '{"b":1.50e+02,"a":[18446744073709551615,"a \\" b \\\\","\\u00e9 é  "]}');
});

test('a compact text of any value is what JSON.stringify writes without indentation', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(compactJson(Buffer.from(JSON.stringify(value, undefined, 3))), JSON.stringify(value));
    }),
  );
});
