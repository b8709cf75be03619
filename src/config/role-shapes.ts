import { entrances } from '#access/access-options.ts';
import type { SelfApproval } from '#access/approval-options.ts';
import { relayOperations } from '#access/operations.ts';
import { roles as builtInRoles, customRole, isRole, type RoleName } from '#access/principal.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import { entriesOf, itemsIn, itemsOf, memberOf, type Place, scalarOf, wrongKind } from './place.ts';
import { callLists, right } from './right-shape.ts';
import { choice, duration, integer, label, type Parsed, text } from './scalar-shapes.ts';
import { type Check, defaulted, isUntagged, list, mapping, optional, required, type Shape, unique } from './shape.ts';
import { isBefore, timestamp } from './timestamp-shape.ts';

/** Issuers may write roles as a text with spaces or commas between them, so a name has neither. */
const roleName = text({
  type: 'role name',
  example: 'noc',
  parse: (value): Parsed<ReturnType<typeof customRole>> => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u.test(value))
      return { fault: 'is no role name: 1 to 64 letters, digits, ".", "_" and "-", with a letter or digit first' };
    if (isRole(value.toLowerCase()))
      return { fault: `${shown(value)} is a role of the specification, whose rights stay as they are; choose another name` };
    return { value: customRole(value) };
  },
});

export const groupName = label({ type: 'group', example: 'network-team', atMost: 256 });

export const groupList = list(groupName, { checks: [unique()] });

export const customRoleList = list(
  mapping({
    name: required(roleName, 'Name of the role, for `roles` of users and clients, and for the roles claim of issuers.'),
    allows: defaulted(list(right), '[]', 'Rights of the role. Each allows the operations that match all of its lists.'),
  }),
  { checks: [unique('name')] },
);

/** `rolesAreDefined` judges the names. */
export const roleList: Shape<readonly RoleName[]> = list(
  text({
    type: 'role',
    example: 'admin',
    parse: (value): Parsed<RoleName> => ({ value: isRole(value) ? value : customRole(value) }),
  }),
  { checks: [unique()] },
);

/** People by role or group. `deed`: what they may do. */
export const peopleWho = (deed: string) =>
  mapping({
    roles: defaulted(roleList, '[]', `Roles whose members may ${deed}.`),
    groups: defaulted(groupList, '[]', `Groups whose members may ${deed}.`),
  });

const selfApproval: Shape<SelfApproval> = {
  type: 'true, false or authors',
  async read(place) {
    const value = scalarOf(place);
    const isKnown = typeof value === 'boolean' || value === 'authors';
    return isKnown && isUntagged(place) ? value : wrongKind(place, 'true or false without quotes, or authors');
  },
};

/** The member `key` names a role or a group. */
export const peopleAreNamed =
  (key: string, deed: string): Check =>
  (place) => {
    const named = memberOf(place, key);
    if (named === undefined || itemsIn(named, 'roles').length > 0 || itemsIn(named, 'groups').length > 0) return;
    named.reading.problem(named, `names no role and no group, so no person could ${deed}; name at least one`);
  };

export const approvalRuleList = list(
  mapping(
    {
      name: required(label({ type: 'approval name', example: 'core-changes', atMost: 64 }), 'Name of the rule, for people.'),
      when: defaulted(
        mapping(
          {
            routes: defaulted(
              list(choice(...relayOperations), { checks: [unique()] }),
              '[]',
              'Routes that relay a call, by their operationId. Empty: any of them.',
            ),
            ...callLists('A rule with adapter instances never matches `restCall`.'),
            roles: defaulted(roleList, '[]', 'Roles of the caller. Empty: any. Calls of runs match in any case.'),
            via: defaulted(
              list(choice(...entrances), { checks: [unique()] }),
              '[]',
              'The entrance of the call. A run that an MCP client started matches `mcp` and `run`. Empty: any.',
            ),
            from: optional(timestamp, 'The rule matches from this time on (RFC 3339 with an offset).'),
            until: optional(timestamp, 'The rule matches before this time.'),
          },
          isBefore('from', 'until'),
        ),
        '{}',
        'The relayed calls that the rule matches: those that match all of its lists, at its times.',
      ),
      approvers: required(peopleWho('approve'), 'Who may approve: people with one of the roles, or in one of the groups.'),
      count: defaulted(integer(1, 20), '1', 'How many different people must grant.'),
      selfApproval: defaulted(
        selfApproval,
        'false',
        'Whether people who had a hand in the call may be some of them. `authors`: those who only wrote its automation, workflow or form, also of the runs around it or the one that it repeats.',
      ),
      expires: defaulted(duration('365d'), '4h', 'The time in which the call must be granted and made.'),
    },
    peopleAreNamed('approvers', 'approve'),
  ),
  { checks: [unique('name')] },
);

/** For the section `access`: each role of a user, a client or a group is one of the specification, or one of `access.roles`. */
export const rolesAreDefined: Check = (place) => {
  for (const kind of ['users', 'clients']) knownRoles(place, membersIn(place, kind, 'roles').flatMap(itemsOf));
  const ofGroups = memberOf(place, 'groupRoles');
  if (ofGroups !== undefined) for (const { value } of entriesOf(ofGroups)) knownRoles(place, itemsOf(value));
};

function knownRoles(access: Place, roles: readonly Place[]): void {
  const names = [...builtInRoles, ...namesIn(membersIn(access, 'roles', 'name'))];
  for (const role of roles) {
    const name = scalarOf(role);
    if (typeof name !== 'string' || names.includes(name)) continue;
    role.reading.problem(role, `${shown(name)} is unknown here; write one of ${listed(names)}${didYouMean(name, names)}`);
  }
}

function namesIn(places: readonly Place[]): readonly string[] {
  return places.map(scalarOf).filter((name) => typeof name === 'string');
}

/** For the whole file: a right or an approval names only what exists, and can match a call. */
export const rightsMatchAdapters: Check = (root) => {
  const access = memberOf(root, 'access');
  if (access === undefined) return;
  const names = namesIn(membersIn(root, 'adapters', 'name'));
  for (const place of membersIn(access, 'roles', 'allows').flatMap(itemsOf)) matchesCalls(place, names, 'allows nothing');
  for (const place of membersIn(root, 'approvals', 'when')) {
    matchesCalls(place, names, 'matches nothing');
    knownRoles(access, itemsIn(place, 'roles'));
  }
  for (const place of membersIn(root, 'approvals', 'approvers')) knownRoles(access, itemsIn(place, 'roles'));
  for (const secret of namedSecretsIn(root)) {
    const writers = memberOf(secret, 'writers');
    if (writers !== undefined) knownRoles(access, itemsIn(writers, 'roles'));
    knownAdapters(itemsIn(secret, 'adapters'), names);
  }
};

function namedSecretsIn(root: Place): readonly Place[] {
  const automations = memberOf(root, 'automations');
  const secrets = automations && memberOf(automations, 'secrets');
  return secrets === undefined ? [] : entriesOf(secrets).map(({ value }) => value);
}

function matchesCalls(place: Place, names: readonly string[], nothing: string): void {
  const adapters = itemsIn(place, 'adapters');
  const routes = itemsIn(place, 'routes')
    .map(scalarOf)
    .filter((route) => relayOperations.some((known) => known === route));
  knownAdapters(adapters, names);
  if (adapters.length > 0 && routes.length > 0 && routes.every((route) => route === 'restCall'))
    place.reading.warning(place, `${nothing}: restCall has no adapter instance; remove adapters, or add a route`);
}

function knownAdapters(adapters: readonly Place[], names: readonly string[]): void {
  for (const adapter of adapters) {
    const name = scalarOf(adapter);
    if (typeof name !== 'string' || names.includes(name)) continue;
    const known = names.length === 0 ? 'none is configured' : `there are ${listed(names)}`;
    adapter.reading.problem(adapter, `is no adapter instance; ${known}${didYouMean(name, names)}`);
  }
}

/** The places of the member `key` of each item of the list `section`. */
function membersIn(place: Place, section: string, key: string): readonly Place[] {
  return itemsIn(place, section).flatMap((item) => memberOf(item, key) ?? []);
}
