import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pathReadings } from './path-readings.ts';
import { decidePath } from './path-rights.ts';

function rights(allowed: readonly string[], denied: readonly string[]) {
  return { allowPaths: { actions: allowed, queries: allowed }, denyPaths: { actions: denied, queries: denied } };
}

test('a path that no rule allows is refused', () => {
  assert.equal(decidePath(rights(['restconf/data/**'], []), 'queries', 'restconf/operations/x').allowed, false);
  assert.equal(decidePath(rights([], []), 'actions', 'x').allowed, false);
});

test('a denied path is denied in every listed reading', () => {
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
    'restconf/operations/packages;a=1/reload',
    'restconf/operations/packages/reload;a=1;b',
    'restconf/operations/;a/packages/.;b/reload',
    'restconf/operations/packages%3Ba/reload',
    'restconf/operations/packages%c0%afreload',
    'restconf/operations/packages%25c0%25afreload',
    'restconf/operations/packages/%c1%b2eload',
    'restconf/operations/packages/%e0%81%b2eload',
    'restconf/operations/packages/%f0%80%81%b2eload',
    'restconf/operations/packages/%u0072eload',
    'restconf/operations/packages%5creload',
    'restconf/operations/packages/reload%3Fx',
    'restconf/operations/packages/reload%23x',
    'restconf/operations/packages/reload%00x',
    'restconf/operations/packages/re%00load',
    'restconf/operations/packages/%252525252572eload',
    'restconf/operations/packages/%25252525252572eload',
  ]) {
    assert.equal(decidePath(denied, 'actions', path).allowed, false, path);
  }
  assert.equal(decidePath(denied, 'actions', 'restconf/operations/packages/reload-status').allowed, true);
});

test('a rule may be percent-encoded, and characters outside ASCII are compared as UTF-8', () => {
  for (const rule of ['x/caf\u00e9', 'x/caf%C3%A9', 'x/caf%c3%a9']) {
    for (const path of ['x/caf%C3%A9', 'x/caf%c3%a9', 'x/%63af%25c3%25a9'])
      assert.equal(decidePath(rights(['**'], [rule]), 'actions', path).allowed, false, `${rule} ${path}`);
    assert.equal(decidePath(rights([rule], []), 'actions', 'x/caf%E9').allowed, false);
  }
  assert.equal(decidePath(rights(['x/a%2Fb'], []), 'actions', 'x/a%2Fb').allowed, true);
  assert.equal(decidePath(rights(['x/%2A'], []), 'actions', 'x/anything').allowed, false);
});

/** Some servers read these paths as `restconf/operations/packages/reload`, by rules of their own. */
const spelledForOneServer = {
  'another case': 'restconf/operations/packages/Reload',
  'a dot at its end': 'restconf/operations/packages/reload.',
  'an encoded dot at its end': 'restconf/operations/packages/reload%2e',
  'a blank at its end': 'restconf/operations/packages/reload%20',
  'a plus at its end': 'restconf/operations/packages/reload+',
  'a tab inside': 'restconf/operations/packages/re%09load',
  'a full-width letter': 'restconf/operations/packages/%EF%BD%92eload',
  'a letter with an accent': 'restconf/operations/packages/rel%C3%B6ad',
  'an invisible character': 'restconf/operations/packages/re%E2%80%8Bload',
  'a stream name': 'restconf/operations/packages/reload::$DATA',
};

for (const [what, path] of Object.entries(spelledForOneServer)) {
  test(`a denied path with ${what} is another path, and a list of allowed paths refuses it`, () => {
    // The first half is the documented limit of denyPaths, the second is the advice.
    assert.equal(decidePath(rights(['**'], ['**/packages/reload']), 'actions', path).allowed, true);
    const allowed = rights(['restconf/operations/devices/**', 'restconf/operations/packages/check'], []);
    assert.equal(decidePath(allowed, 'actions', path).allowed, false);
  });
}

test('a path in an allowed list is allowed with any value', () => {
  const allowed = rights(['restconf/data/**'], []);
  for (const value of ['10.0.0.0%2F24', 'a;b', 'a%3Bb', 'a%3Fb', '100%25', 'caf%C3%A9', 'a%5Cb'])
    assert.equal(decidePath(allowed, 'queries', `restconf/data/x=${value}`).allowed, true, value);
});

/**
 * The resource that a server finds for a path by RFC 3986: segments decoded once, parameters dropped or kept, idle segments
 * dropped.
 */
function served(path: string, parameters: 'drop' | 'keep'): string {
  const segments = path
    .split('/')
    .map((segment) => decodeURIComponent(parameters === 'drop' ? (segment.split(';')[0] ?? '') : segment));
  return segments.filter((segment) => segment !== '' && segment !== '.').join('/');
}

test('every spelling that RFC 3986 makes equal to a denied path is denied', () => {
  const target = 'restconf/operations/tailf-ncs:packages/reload';
  const denied = rights(['**'], ['**/*packages/**/*reload']);
  const hex = (character: string): string => character.charCodeAt(0).toString(16);
  const spellings = fc.tuple(
    ...target
      .split('')
      .map((character) =>
        character === '/'
          ? fc.constantFrom('/', '/', '//', '/./', '/%2e/', ';a=b/', ';/', '/;x/', '/.;y/')
          : fc.constantFrom(character, character, `%${hex(character)}`, `%${hex(character).toUpperCase()}`),
      ),
    fc.constantFrom('', '/', '//', '/.', ';', ';p=1/', '?a=b', '/?'),
  );
  fc.assert(
    fc.property(spellings, fc.constantFrom('', '/'), (parts, lead) => {
      const path = lead + parts.join('');
      assert.equal(served(path.split('?', 1)[0] ?? '', 'drop'), target);
      return !decidePath(denied, 'actions', path).allowed;
    }),
    { numRuns: 2_000 },
  );
});

test('an encoded slash in a parameter does not hide the segment before the parameter', () => {
  for (const path of ['%61//b;%2Fa', 'a%2Fb;%2fa', '%2561/b;%2Fx', '%61/b;x%252Fy'])
    assert.equal(decidePath(rights(['**'], ['a/b']), 'queries', path).allowed, false, path);
});

test('a random path is denied if a server would serve the denied resource for it', () => {
  const denied = rights(['**'], ['a/b']);
  const pieces = ['a', 'b', '/', '.', ';', '%61', '%62', '%2e', '%2f', '%2F', '%3b', 'x', '//', '%', '5c', '%25'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (chosen) => {
      const path = chosen.join('');
      let resources: readonly string[] = [];
      try {
        resources = [served(path, 'drop'), served(path, 'keep')];
      } catch {
        return true;
      }
      return !resources.includes('a/b') || !decidePath(denied, 'queries', path).allowed;
    }),
    { numRuns: 20_000 },
  );
});

test('a denied path is denied with any of its characters percent-encoded', () => {
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

test('a hostile path is decided quickly by a rule with many stars', () => {
  const started = performance.now();
  decidePath(rights(['**/a*a*a*a*a*a*a*b'], []), 'actions', `${'a'.repeat(4_000)}/${'a'.repeat(4_000)}`);
  const wrapped = ['%', '25'.repeat(3), '3b/%c0%af%5c;', '%c3%a9%3f%00a'].join('').repeat(200);
  decidePath(rights(['**'], ['**/*a*b*/**/*c', '**/a*a*a*b']), 'actions', wrapped);
  assert.ok(performance.now() - started < 2_000);
});

test('R24: a path with too many readings is refused without matching them', () => {
  const everything = rights(['**'], ['**/secret/**']);
  for (const piece of ['/devices/device=%25252525%3bx%5c;%252f%00%c3%a9', ';%252525253b%2f', '%2525252578/;y%25253b/']) {
    const { allowed, reason } = decidePath(everything, 'queries', piece.repeat(500).slice(0, 8_190));
    assert.equal(allowed, false, piece);
    assert.match(reason, /too many ways/u);
    assert.equal(decidePath(everything, 'queries', piece).allowed, true, piece);
  }
  for (const piece of ['a/', 'a;b/', '%61/', 'device=%2fx/'])
    assert.equal(decidePath(everything, 'queries', piece.repeat(5_000).slice(0, 8_190)).allowed, true, piece);
});

test('the readings of a path are never longer than twice the longest path', () => {
  const piece = fc.constantFrom('a', '/', ';', '%25', '%3b', '%5c', '\\', '%00', '%c3%a9', '%2f', '.', '?', '%23');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 400 }), (pieces, times) => {
      const readings = pathReadings(pieces.join('').repeat(times).slice(0, 8_192));
      assert.ok((readings ?? []).reduce((sum, { length }) => sum + length, 0) <= 16_384);
    }),
    { numRuns: 300 },
  );
});
