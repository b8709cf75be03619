import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readAuthorization } from './credentials-header.ts';

test('every user name without a colon and every password survives Basic', () => {
  const name = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes(':'));
  fc.assert(
    fc.property(name, fc.string({ unit: 'grapheme' }), (name, password) => {
      const header = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
      assert.deepEqual(readAuthorization(header), { scheme: 'basic', name, password });
    }),
  );
});

test('a scheme name is case-insensitive', () => {
  assert.deepEqual(readAuthorization('bAsIc YTpi'), { scheme: 'basic', name: 'a', password: 'b' });
  assert.deepEqual(readAuthorization('BEARER a.b.c'), { scheme: 'bearer', token: 'a.b.c' });
});

test('a header that is not well-formed is malformed', () => {
  const refused = [
    '',
    'Basic',
    'Basic ',
    'Basic YWI=',
    'Basic YTpi=',
    'Basic YTpi YTpi',
    'Basic Y*pi',
    'Basic _w==',
    'Basic /zo=',
    'Bearer',
  ];
  for (const header of [...refused, 'Bearer a b', 'Bearer "a"', 'Digest username="a"', 'Negotiate YTpi', 'YTpi', ' Basic YTpi']) {
    assert.deepEqual(readAuthorization(header), { scheme: 'malformed' }, header);
  }
});
