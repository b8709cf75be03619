import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesGlob, readGlob, readPath } from './path-glob.ts';
import { withoutIdleSegments } from './path-readings.ts';

function matches(glob: string, path: string): boolean {
  return matchesGlob(readGlob(glob), readPath(path));
}

test('two stars match any number of segments, and one star matches part of a segment', () => {
  assert.ok(matches('**', 'a/b/c'));
  assert.ok(matches('**', ''));
  assert.ok(matches('restconf/**', 'restconf/data/x'));
  assert.ok(matches('**/packages/reload', 'restconf/operations/packages/reload'));
  assert.ok(matches('a/*/c', 'a/b/c'));
  assert.ok(matches('a/device=*', 'a/device=ce0'));
  assert.ok(!matches('a/*', 'a/b/c'));
  assert.ok(!matches('restconf/**/x', 'restconf/y'));
});

test('a star matches like the regular expression .* and idle segments do not count', () => {
  const text = (...pieces: string[]) => fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((chosen) => chosen.join(''));
  fc.assert(
    fc.property(text('a', 'b', '*'), text('a', 'b'), (glob, segment) => {
      const expression = new RegExp(`^${glob.replaceAll('*', '.*')}$`, 'u');
      assert.equal(matches(`x/${glob}y/z`, `x/${segment}y/z`), expression.test(segment));
    }),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(text('a', '.', '/', '//', '/./'), (path) => {
      const expected = path.split('/').filter((segment) => segment !== '' && segment !== '.');
      assert.equal(withoutIdleSegments(path), expected.join('/'));
    }),
    { numRuns: 1_000 },
  );
});
