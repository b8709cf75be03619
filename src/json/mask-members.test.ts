import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonSyntaxError } from './json-scanner.ts';
import { isCredential, maskMembers } from './mask-members.ts';

test('a masked text has *** for the hidden members, and all else as it is written', () => {
  const text =
    ' { "n" : 1.50e+02, "Password":"x\\"y", "list" : [ {"authentication" : {"basic": {"password": "p"}} , "id" : 18446744073709551615} ], "ietf:password" : null , "e\\u00e9 é":[ 1 , "Password" ], "p\\u0061ssword": [1, {"a": 2}] } ';
  assert.equal(
    maskMembers(text, isCredential),
    ' { "n" : 1.50e+02, "Password":"***", "list" : [ {"authentication" : "***" , "id" : 18446744073709551615} ], "ietf:password" : "***" , "e\\u00e9 é":[ 1 , "Password" ], "p\\u0061ssword": "***" } ',
  );
});

test('headers with credentials are credentials in any case, and words that only contain one are not', () => {
  for (const name of ['Authorization', 'proxy-authorization', 'COOKIE', 'Set-Cookie', 'X-API-Key', 'apikey', 'X-Auth-Token'])
    assert.ok(isCredential(name), name);
  for (const name of ['passwords', 'author', 'cookies', 'key', 'token', '']) assert.ok(!isCredential(name), name);
});

test('a rule gets the names that lead to a member, without places in arrays', () => {
  const paths: string[] = [];
  maskMembers('{"a":[{"b":{"c":1}},[{"d":2}]],"e":{"f":[3],"g":4}}', (_name, path) => {
    paths.push(path().join('/'));
    return false;
  });
  assert.deepEqual(paths, ['a', 'a/b', 'a/b/c', 'a/d', 'e', 'e/f', 'e/g']);
});

test('a masked text of any value is what JSON.stringify writes of the value with masked members', () => {
  const hides = (name: string): boolean => name.length % 2 === 1;
  const masked = (_name: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, hides(name) ? '***' : inner]))
      : value;
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.equal(maskMembers(JSON.stringify(plain), hides), JSON.stringify(plain, masked));
    }),
  );
});

test('a deep text takes no time that grows with the square of its depth', () => {
  const depth = 100_000;
  const text = `${'{"a":'.repeat(depth)}{"password":1}${'}'.repeat(depth)}`;
  assert.equal(maskMembers(text, isCredential), text.replace(':1}', ':"***"}'));
});

test('a text that is no JSON is refused', () => {
  assert.throws(() => maskMembers('{"password":', isCredential), JsonSyntaxError);
});
