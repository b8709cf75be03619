import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { roles as allRoles, type Principal, type Role } from '../principal.ts';
import { decide } from './decide.ts';

function holding(...held: Role[]): Principal {
  return { id: 'someone', username: 'someone', roles: held, groups: [] };
}

test('a principal with one of the roles is allowed, and the decision names the role', () => {
  const decision = decide({ principal: holding('other', 'engineering'), roles: ['admin', 'engineering'] });
  assert.deepEqual(decision, { allowed: true, reason: 'The role engineering allows this.' });
});

test('a principal without a needed role is denied, and the decision names the roles that it has and needs', () => {
  const decision = decide({ principal: holding('readonly'), roles: ['admin', 'engineering'] });
  assert.deepEqual(decision, {
    allowed: false,
    reason: 'This needs one of the roles admin, engineering; you have readonly. An operator can add engineering to your roles.',
  });
});

test('a principal without any role is denied everywhere', () => {
  assert.equal(decide({ principal: holding(), roles: allRoles }).allowed, false);
  assert.match(decide({ principal: holding(), roles: allRoles }).reason, /you have no role/u);
});

test('a principal is allowed exactly if the two lists of roles have one in common', () => {
  const some = fc.subarray([...allRoles]);
  fc.assert(
    fc.property(some, some, (held, needed) => {
      const meet = held.some((role) => needed.includes(role));
      assert.equal(decide({ principal: holding(...held), roles: needed }).allowed, meet);
    }),
  );
});
