import { entriesOf, itemsIn, itemsOf, memberOf, type Place, scalarOf, warn } from './shapes/place.ts';
import type { Check } from './shapes/shape.ts';

/** A user or client of the file. */
interface KnownPrincipal {
  readonly roles: readonly unknown[];
  readonly groups: readonly unknown[];
}

/** What the file knows of people. With issuers there are persons whose roles and groups only their tokens name. */
interface KnownPeople {
  readonly list: readonly KnownPrincipal[];
  readonly hasIssuers: boolean;
}

/** Warns of rules that the people of the file cannot satisfy. */
export const peopleSatisfyRules: Check = (root) => {
  const access = memberOf(root, 'access');
  if (access === undefined) return;
  const people = knownPeople(access);
  warnOfMissingAdmin(access, people);
  for (const rule of itemsIn(root, 'approvals')) {
    const approvers = memberOf(rule, 'approvers');
    if (approvers !== undefined) warnOfApprovers(rule, approvers, people);
  }
};

function knownPeople(access: Place): KnownPeople {
  const blocked = itemsIn(access, 'blocked').map(scalarOf);
  const isBlocked = (one: Place): boolean =>
    ['username', 'clientId'].some((key) => blocked.includes(scalarOf(memberOf(one, key))));
  const given = memberOf(access, 'groupRoles');
  const ofGroups = new Map(given && entriesOf(given).map(({ key, value }) => [key, itemsOf(value).map(scalarOf)]));
  const principals = ['users', 'clients'].flatMap((kind) => itemsIn(access, kind)).filter((one) => !isBlocked(one));
  return {
    list: principals.map((one) => {
      const groups = itemsIn(one, 'groups').map(scalarOf);
      return {
        roles: [...itemsIn(one, 'roles').map(scalarOf), ...groups.flatMap((group) => ofGroups.get(String(group)) ?? [])],
        groups,
      };
    }),
    hasIssuers: itemsIn(access, 'oidc').length > 0,
  };
}

function warnOfMissingAdmin(access: Place, { list, hasIssuers }: KnownPeople): void {
  if (list.length === 0 && !hasIssuers) return;
  if (list.some(({ roles }) => roles.includes('admin'))) return;
  const otherwise = hasIssuers ? 'an admin has to come from an issuer' : 'no caller can see the audit log or decide about runs';
  warn(access, `no user and no client has the role admin: ${otherwise}`);
}

function warnOfApprovers(rule: Place, approvers: Place, people: KnownPeople): void {
  const [roles, groups] = [itemsIn(approvers, 'roles'), itemsIn(approvers, 'groups')];
  const otherwise = people.hasIssuers ? 'its members have to come from an issuer' : 'it lets no person approve';
  for (const group of groups.filter((one) => !people.list.some((known) => known.groups.includes(scalarOf(one)))))
    warn(group, `no user and no client of this file is in this group: ${otherwise}`);
  const has = (given: readonly Place[], held: readonly unknown[]): boolean => given.some((one) => held.includes(scalarOf(one)));
  const able = people.list.filter((one) => has(roles, one.roles) || has(groups, one.groups)).length;
  // Where only groups are named, the warnings about them say it already.
  if (able > 0 || roles.length > 0) warnOfCount(rule, able, people);
}

/** `able`: how many principals of the file can approve. */
function warnOfCount(rule: Place, able: number, { hasIssuers }: KnownPeople): void {
  const given = memberOf(rule, 'count');
  const count = scalarOf(given) ?? 1;
  if (typeof count !== 'number' || count <= able) return;
  const wanted = count === 1 ? 'a person has' : `${count} people have`;
  const known = `${able === 0 ? 'none' : able} of the users and clients of this file can approve`;
  const rest = hasIssuers ? 'the others have to come from an issuer' : 'the calls of this rule never leave';
  warn(given ?? rule, `${wanted} to approve, and ${known}: ${rest}`);
}
