import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearest } from './wording.ts';

test('a word with a typing error has the intended word as its suggestion', () => {
  const words = ['host', 'port', 'trustedProxies', 'requestBodyLimit'];
  assert.equal(nearest('hots', words), 'host');
  assert.equal(nearest('hosing', words), undefined);
  assert.equal(nearest('hst', words), 'host');
  assert.equal(nearest('PORT', words), 'port');
  assert.equal(nearest('trustedproxys', words), 'trustedProxies');
  assert.equal(nearest('requestBodyLimi', words), 'requestBodyLimit');
});

test('a word that resembles no candidate has no suggestion', () => {
  assert.equal(nearest('nonsense', ['host', 'port']), undefined);
  assert.equal(nearest('x'.repeat(10_000), ['x']), undefined);
  assert.equal(didYouMean('nonsense', ['host']), '');
  assert.equal(didYouMean('hosst', ['host']), '; did you mean "host"?');
});
