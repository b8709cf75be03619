import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principalOfClaims } from './oidc-claims.ts';

const names = { rolesClaim: 'roles', groupsClaim: 'groups' };

test('roles and groups come as arrays or as text, and unknown roles are left out', () => {
  assert.deepEqual(principalOfClaims({ sub: 's', roles: ['admin', 'pilot', 7, 'admin'], groups: 'noc, core  edge' }, names), {
    username: 's',
    roles: ['admin'],
    groups: ['noc', 'core', 'edge'],
  });
  assert.deepEqual(principalOfClaims({ sub: 's', roles: 'apiread readonly' }, names)?.roles, ['readonly', 'apiread']);
});

test('claims may be nested, and a claim whose name holds dots comes first', () => {
  const nested = { sub: 's', realm_access: { roles: ['engineering'] }, 'https://example.net/roles': ['other'] };
  assert.deepEqual(principalOfClaims(nested, { ...names, rolesClaim: 'realm_access.roles' })?.roles, ['engineering']);
  assert.deepEqual(principalOfClaims(nested, { ...names, rolesClaim: 'https://example.net/roles' })?.roles, ['other']);
  for (const rolesClaim of ['realm_access.missing', 'sub.length', '__proto__.x', 'constructor']) {
    assert.deepEqual(principalOfClaims(nested, { ...names, rolesClaim })?.roles, [], rolesClaim);
  }
});

test('the name is preferred_username, else sub; without either there is no caller', () => {
  assert.equal(principalOfClaims({ sub: 's', preferred_username: 'ann' }, names)?.username, 'ann');
  assert.equal(principalOfClaims({ sub: 's', preferred_username: '' }, names)?.username, 's');
  assert.equal(principalOfClaims({ sub: 's', preferred_username: 5 }, names)?.username, 's');
  assert.equal(principalOfClaims({ sub: 5 }, names), undefined);
});
