import { roles as builtInRoles, customRole, isRole, type RoleName } from '#access/principal.ts';
import { entrances } from '#access/rights/access-options.ts';
import type { SelfApproval } from '#access/rights/approval-options.ts';
import { relayOperations } from '#access/rights/operations.ts';
import { readTimestamp } from '#base/text/timestamp.ts';
import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import { entriesOf, itemsIn, itemsOf, memberOf, type Place, report, scalarOf, warn, wrongKind } from './place.ts';
import { callLists, right } from './right-shape.ts';
import { choice, duration, integer, label, type Parsed, text } from './scalar-shapes.ts';
import { type Check, defaulted, list, mapping, optional, required, type Shape, unique, uniqueList } from './shape.ts';

const example = '2026-12-20T00:00:00+01:00';

/** RFC 3339, in milliseconds since the epoch. */
const timestamp: Shape<number> = text({
  type: 'time',
  example,
  parse: (value): Parsed<number> => {
    const read = readTimestamp(value);
    if (read === undefined) return { fault: `${quote(value)} is no time of RFC 3339; write e.g. ${example}` };
    return { value: Date.parse(read) };
  },
});

/** And the second has not passed. */
function isBefore(first: string, second: string): Check {
  return (place) => {
    const end = memberOf(place, second);
    const until = timeIn(scalarOf(end));
    if (end === undefined || until === undefined) return;
    const from = timeIn(scalarOf(memberOf(place, first)));
    if (from !== undefined && from >= until) report(end, `is not after ${first}, so the times match nothing`);
    else if (until <= Date.now()) warn(end, 'has passed, so the times match nothing any more');
  };
}

function timeIn(value: unknown): number | undefined {
  const read = typeof value === 'string' ? readTimestamp(value) : undefined;
  return read === undefined ? undefined : Date.parse(read);
}

/** Issuers separate roles by spaces or commas. */
const roleName = text({
  type: 'role name',
  example: 'noc',
  parse: (value): Parsed<ReturnType<typeof customRole>> => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u.test(value))
      return { fault: 'is no role name: 1 to 64 letters, digits, ".", "_" and "-", with a letter or digit first' };
    if (isRole(value.toLowerCase()))
      return { fault: `${quote(value)} is a role of the specification, whose rights stay as they are; choose another name` };
    return { value: customRole(value) };
  },
});

export const groupName = label({ type: 'group', example: 'network-team', atMost: 256 });

export const groupList = uniqueList(groupName);

export const customRoleList = list(
  mapping({
    name: required(roleName, 'Name of the role, for `roles` of users and clients, and for the roles claim of issuers.'),
    allows: defaulted(list(right), '[]', 'Rights of the role. Each allows the operations that match all of its lists.'),
  }),
  { checks: [unique('name')] },
);

export const roleList: Shape<readonly RoleName[]> = uniqueList(
  text({
    type: 'role',
    example: 'admin',
    parse: (value): Parsed<RoleName> => ({ value: isRole(value) ? value : customRole(value) }),
  }),
);

/** `deed`: what they may do. */
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
    return isKnown ? value : wrongKind(place, 'true or false without quotes, or authors');
  },
};

export const peopleAreNamed =
  (key: string, deed: string): Check =>
  (place) => {
    const named = memberOf(place, key);
    if (named === undefined || itemsIn(named, 'roles').length > 0 || itemsIn(named, 'groups').length > 0) return;
    report(named, `names no role and no group, so no person could ${deed}; name at least one`);
  };

/** The calls of a batch are calls of runs. */
function batchesCallByRun(place: Place): void {
  if (scalarOf(memberOf(place, 'covers')) !== 'batch') return;
  const when = memberOf(place, 'when');
  const via = when === undefined ? [] : itemsIn(when, 'via');
  if (when === undefined || via.length === 0 || via.some((one) => scalarOf(one) === 'run')) return;
  report(memberOf(when, 'via') ?? when, 'leaves out run, so the rule matches no call of a batch; add run, or leave covers out');
}

export const approvalRuleList = list(
  mapping(
    {
      name: required(label({ type: 'approval name', example: 'core-changes', atMost: 64 }), 'Name of the rule, for people.'),
      when: defaulted(
        mapping(
          {
            routes: defaulted(
              uniqueList(choice(...relayOperations)),
              '[]',
              'Routes that relay a call, by their operationId. Empty: any of them.',
            ),
            ...callLists('A rule with adapter instances never matches `restCall`.'),
            roles: defaulted(roleList, '[]', 'Roles of the caller. Empty: any. Calls of runs match in any case.'),
            via: defaulted(
              uniqueList(choice(...entrances)),
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
      covers: defaulted(
        choice('call', 'batch'),
        'call',
        '`batch`: people are asked once for all calls of a `call: batch` at one task of its workflow, and see the first of them. Calls outside of a batch are asked for one by one.',
      ),
    },
    peopleAreNamed('approvers', 'approve'),
    batchesCallByRun,
  ),
  { checks: [unique('name')] },
);

/** For `access`: of the specification, or of `access.roles`. */
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
    report(role, `${quote(name)} is unknown here; write one of ${joinWords(names)}${didYouMean(name, names)}`);
  }
}

function namesIn(places: readonly Place[]): readonly string[] {
  return places.map(scalarOf).filter((name) => typeof name === 'string');
}

/** For the whole file: names exist, and a call can match. */
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
    warn(place, `${nothing}: restCall has no adapter instance; remove adapters, or add a route`);
}

function knownAdapters(adapters: readonly Place[], names: readonly string[]): void {
  for (const adapter of adapters) {
    const name = scalarOf(adapter);
    if (typeof name !== 'string' || names.includes(name)) continue;
    const known = names.length === 0 ? 'none is configured' : `there are ${joinWords(names)}`;
    report(adapter, `is no adapter instance; ${known}${didYouMean(name, names)}`);
  }
}

function membersIn(place: Place, section: string, key: string): readonly Place[] {
  return itemsIn(place, section).flatMap((item) => memberOf(item, key) ?? []);
}
