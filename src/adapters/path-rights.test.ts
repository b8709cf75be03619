import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decidePath, matchesGlob } from './path-rights.ts';

function rights(allowed: readonly string[], denied: readonly string[]) {
  return { allowPaths: { actions: allowed, queries: allowed }, denyPaths: { actions: denied, queries: denied } };
}

test('two stars stand for any number of segments, one star for part of a segment', () => {
  assert.ok(matchesGlob('**', 'a/b/c'));
  assert.ok(matchesGlob('**', ''));
  assert.ok(matchesGlob('restconf/**', 'restconf/data/x'));
  assert.ok(matchesGlob('**/packages/reload', 'restconf/operations/packages/reload'));
  assert.ok(matchesGlob('a/*/c', 'a/b/c'));
  assert.ok(matchesGlob('a/device=*', 'a/device=ce0'));
  assert.ok(!matchesGlob('a/*', 'a/b/c'));
  assert.ok(!matchesGlob('restconf/**/x', 'restconf/y'));
});

test('a path that no rule allows is refused', () => {
  assert.equal(decidePath(rights(['restconf/data/**'], []), 'queries', 'restconf/operations/x').allowed, false);
  assert.equal(decidePath(rights([], []), 'actions', 'x').allowed, false);
});

test('no spelling of a denied path gets through', () => {
  const denied = rights(['**'], ['**/packages/reload']);
  for (const path of [
    'restconf/operations/packages/reload',
    '/restconf/operations/packages/reload',
    'restconf/operations/packages/reload?x=1',
    'restconf/operations/packages/reload/',
    'restconf/operations//packages/./reload',
    'restconf/operations/packages/%72eload',
    'restconf/operations/packages%2Freload',
    'restconf/operations/packages/%2572eload',
  ]) {
    assert.equal(decidePath(denied, 'actions', path).allowed, false, path);
  }
  assert.equal(decidePath(denied, 'actions', 'restconf/operations/packages/reload-status').allowed, true);
});

test('percent-encoding any character of a denied path does not let it through', () => {
  const denied = rights(['**'], ['restconf/data/secret']);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 2 }), { minLength: 20, maxLength: 20 }), (choices) => {
      const spelled = 'restconf/data/secret'.split('').map((character, index) => {
        const encoded = `%${character.charCodeAt(0).toString(16)}`;
        return [character, encoded, encoded.replace('%', '%25')][choices[index] ?? 0];
      });
      return !decidePath(denied, 'queries', spelled.join('')).allowed;
    }),
  );
});

test('a hostile path and a rule with many stars are judged quickly', () => {
  const started = performance.now();
  matchesGlob('**/a*a*a*a*a*a*a*b', `${'a'.repeat(4_000)}/${'a'.repeat(4_000)}`);
  assert.ok(performance.now() - started < 2_000);
});
