import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customRole } from '../principal.ts';
import { areNamesLeftOut, principalOfClaims } from './oidc-claims.ts';

const names = {
  issuer: 'https://a',
  rolesClaim: 'roles',
  groupsClaim: 'groups',
  groupRoles: {},
  customRoles: [customRole('noc')],
  isTaken: (name: string) => name === 'admin',
};

test('a role of the operator is one of the roles that claims can give', () => {
  assert.deepEqual(principalOfClaims({ sub: 's', roles: ['noc', 'readonly', 'pilot'] }, names)?.roles, ['readonly', 'noc']);
});

test('roles and groups are arrays or one text, and unknown roles are dropped', () => {
  assert.deepEqual(
    principalOfClaims({ sub: 's', roles: ['admin', 'pilot', 7, 'admin'], groups: ['noc', 'core', 'noc'] }, names),
    {
      id: 'oidc:["https://a","s"]',
      username: 's',
      roles: ['admin'],
      groups: ['noc', 'core'],
      issuer: 'https://a',
      subject: 's',
    },
  );
});

test('a claim that is one text is one name, with its spaces and commas', () => {
  const claims = { sub: 's', roles: 'Helpdesk admin', groups: 'friends of noc-leads, EMEA' };
  assert.deepEqual(principalOfClaims(claims, names)?.roles, [], 'admin is a part of another name');
  assert.deepEqual(principalOfClaims(claims, names)?.groups, ['friends of noc-leads, EMEA']);
  assert.deepEqual(principalOfClaims({ sub: 's', roles: 'admin' }, names)?.roles, ['admin']);
  assert.deepEqual(principalOfClaims({ sub: 's', roles: '', groups: '' }, names)?.groups, []);
});

test('scope alone is a list of words', () => {
  const scoped = { ...names, rolesClaim: 'scope' };
  assert.deepEqual(principalOfClaims({ sub: 's', scope: 'openid readonly  noc' }, scoped)?.roles, ['readonly', 'noc']);
});

test('names are left out where a token names another place for their claim, or has hasgroups in its place', () => {
  assert.ok(areNamesLeftOut({ _claim_names: { groups: 'src1' } }, names));
  assert.ok(areNamesLeftOut({ _claim_names: { roles: 'src1' } }, names));
  assert.ok(areNamesLeftOut({ hasgroups: true }, names));
  assert.equal(areNamesLeftOut({ hasgroups: true, groups: ['noc'] }, names), false);
  assert.equal(areNamesLeftOut({ hasgroups: 'true' }, names), false);
  for (const elsewhere of [undefined, null, 'groups', { other: 'src1' }, {}])
    assert.equal(areNamesLeftOut({ _claim_names: elsewhere }, names), false, JSON.stringify(elsewhere));
});

test('a token whose groups were left out gives no groups, and no role of a group', () => {
  const claims = { sub: 's', roles: ['readonly'], groups: ['noc'], _claim_names: { groups: 'src1' } };
  const { roles, groups } = principalOfClaims(claims, { ...names, groupRoles: { noc: ['admin'] } }) ?? {};
  assert.deepEqual([roles, groups], [['readonly'], []]);
});

test('values of the groups claim are renamed, and one without a name is no group', () => {
  const renaming = { ...names, groupNames: { 'a-guid': 'noc', 'b-guid': 'noc' }, groupRoles: { noc: ['engineering'] } } as const;
  const of = (...groups: readonly string[]) => principalOfClaims({ sub: 's', groups }, renaming);
  assert.deepEqual(of('b-guid', 'a-guid', 'noc', 'constructor', '__proto__')?.groups, ['noc']);
  assert.deepEqual([of('noc')?.groups, of('noc')?.roles], [[], []], 'the name itself is no value of the directory');
  assert.deepEqual(of('a-guid')?.roles, ['engineering']);
});

test('a group gives its roles in addition to those of the token, and none that the gateway does not know', () => {
  const groupRoles = { noc: [customRole('noc'), 'other'], leads: ['admin', customRole('gone')] } as const;
  const { roles } = principalOfClaims({ sub: 's', roles: 'readonly', groups: ['noc', 'leads'] }, { ...names, groupRoles }) ?? {};
  assert.deepEqual(roles, ['admin', 'other', 'readonly', 'noc']);
});

test('a claim may be nested, and a claim whose name contains dots comes first', () => {
  const nested = { sub: 's', realm_access: { roles: ['engineering'] }, 'https://example.net/roles': ['other'] };
  assert.deepEqual(principalOfClaims(nested, { ...names, rolesClaim: 'realm_access.roles' })?.roles, ['engineering']);
  assert.deepEqual(principalOfClaims(nested, { ...names, rolesClaim: 'https://example.net/roles' })?.roles, ['other']);
  for (const rolesClaim of ['realm_access.missing', 'sub.length', '__proto__.x', 'constructor']) {
    assert.deepEqual(principalOfClaims(nested, { ...names, rolesClaim })?.roles, [], rolesClaim);
  }
});

test('the name is preferred_username, else sub; claims without sub describe no caller', () => {
  assert.equal(principalOfClaims({ sub: 's', preferred_username: 'ann' }, names)?.username, 'ann');
  assert.equal(principalOfClaims({ sub: 's', preferred_username: '' }, names)?.username, 's');
  assert.equal(principalOfClaims({ sub: 's', preferred_username: 5 }, names)?.username, 's');
  assert.equal(principalOfClaims({ sub: 's', preferred_username: 'admin' }, names)?.username, 'admin@https://a');
  assert.equal(principalOfClaims({ sub: 5 }, names), undefined);
  assert.equal(principalOfClaims({ sub: '' }, names), undefined);
  assert.equal(principalOfClaims({ preferred_username: 'ann' }, names), undefined);
});

test('the id of a principal differs for each issuer and subject, and does not depend on its name', () => {
  const ids = [
    ['https://a', 'ann'],
    ['https://a/', 'ann'],
    ['https://a', 'bob'],
    ['https://a","b', 'ann'],
    ['https://a', 'b","ann'],
  ].map(([issuer = '', sub]) => principalOfClaims({ sub, preferred_username: 'ann' }, { ...names, issuer })?.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(ids[0], 'oidc:["https://a","ann"]', 'the text whose digests are in the store');
  assert.ok(
    ids.every((id) => id?.includes(':')),
    'no name of a user or client contains a colon',
  );
});
