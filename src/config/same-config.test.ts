import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '#base/secret.ts';
import { sameConfig } from './same-config.ts';

test('two secrets are equal if and only if their values are equal', () => {
  assert.equal(sameConfig({ auth: new Secret('a') }, { auth: new Secret('a') }), true);
  assert.equal(sameConfig({ auth: new Secret('a') }, { auth: new Secret('b') }), false);
  assert.equal(sameConfig(new Secret('a'), 'a'), false);
});

test('two mappings are equal if they have the same keys, in any order, with equal values', () => {
  assert.equal(sameConfig({ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }), true);
  assert.equal(sameConfig({ a: 1 }, { a: 1, b: 2 }), false);
  assert.equal(sameConfig({ a: undefined }, { b: undefined }), false);
  assert.equal(sameConfig([1, 2], [2, 1]), false);
  assert.equal(sameConfig(['x'], { 0: 'x' }), false);
  assert.equal(sameConfig(undefined, {}), false);
});
