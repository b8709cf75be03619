import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearest } from './nearest.ts';

test('a slip of the keyboard finds the word that was meant', () => {
  const words = ['host', 'port', 'trustedProxies', 'requestBodyLimit'];
  assert.equal(nearest('hots', words), 'host');
  assert.equal(nearest('hosing', words), undefined);
  assert.equal(nearest('hst', words), 'host');
  assert.equal(nearest('PORT', words), 'port');
  assert.equal(nearest('trustedproxys', words), 'trustedProxies');
  assert.equal(nearest('requestBodyLimi', words), 'requestBodyLimit');
});

test('nothing is suggested for a word that is far from all', () => {
  assert.equal(nearest('nonsense', ['host', 'port']), undefined);
  assert.equal(nearest('x'.repeat(10_000), ['x']), undefined);
  assert.equal(didYouMean('nonsense', ['host']), '');
  assert.equal(didYouMean('hosst', ['host']), '; did you mean "host"?');
});
