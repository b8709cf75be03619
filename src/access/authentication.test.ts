import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callerOf } from './authentication.ts';

const principal = { username: 'ann', roles: [], groups: [] };

test('a user or client is told from others by its name alone, as in the digests of the keys that a store already has', () => {
  for (const via of ['basic', 'bearer', 'session'] as const) assert.equal(callerOf({ principal, via }), 'ann');
});

test('a caller of an issuer is told from others by issuer and subject, which do not run into each other', () => {
  const callers = [
    ['https://a', 'ann'],
    ['https://a/', 'ann'],
    ['https://a', 'bob'],
    ['https://a","b', 'ann'],
    ['https://a', 'b","ann'],
  ].map(([issuer = '', subject = '']) => callerOf({ principal, via: 'oidc', issuer, subject }));
  assert.equal(new Set(callers).size, callers.length);
  // No name of a user or client has a colon.
  assert.ok(callers.every((caller) => caller.includes(':')));
});
