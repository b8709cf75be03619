import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readAuthorization } from './credentials-header.ts';

test('every user name without a colon and every password is read back from Basic', () => {
  const name = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes(':'));
  fc.assert(
    fc.property(name, fc.string({ unit: 'grapheme' }), (name, password) => {
      const header = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
      assert.deepEqual(readAuthorization(header), { scheme: 'basic', name, password });
    }),
  );
});

test('schemes ignore case', () => {
  assert.deepEqual(readAuthorization('bAsIc YTpi'), { scheme: 'basic', name: 'a', password: 'b' });
  assert.deepEqual(readAuthorization('BEARER a.b.c'), { scheme: 'bearer', token: 'a.b.c' });
});

test('what is not well-formed is told apart from nothing', () => {
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
