import { parsePasswordHash } from '#access/passwords/password-hash.ts';
import { idOfIssuer, issuerOfId } from '#access/principal.ts';
import { signatureAlgorithms } from '#access/rights/access-options.ts';
import { quote } from '#yaml/wording.ts';
import { httpUrl } from '../shapes/address-shapes.ts';
import { basicUsername } from '../shapes/dialling-shapes.ts';
import { entriesOf, itemsIn, itemsOf, memberOf, type Place, report, scalarOf, warn } from '../shapes/place.ts';
import { customRoleList, groupList, groupName, roleList, rolesAreDefined } from '../shapes/role-shapes.ts';
import { choice, duration, label, orZero, type Parsed, plainText, text } from '../shapes/scalar-shapes.ts';
import { basicPasswordFault, secret } from '../shapes/secret-shape.ts';
import { type Check, defaulted, list, mapping, named, optional, required, unique, uniqueList } from '../shapes/shape.ts';

/** Characters. */
const atMost = 128;

/** As `parsePasswordHash` accepts it. No message quotes the value. */
const argon2idHash = plainText({
  type: 'argon2id hash',
  example: "'$argon2id$v=19$…'",
  refuse: (value) =>
    parsePasswordHash(value) === undefined
      ? 'is no argon2id hash; make one with the command hash-password (and quote it inside { })'
      : undefined,
});

const rolesMeaning =
  'What the principal may do: admin, engineering, other, readonly, apiread, or a role of `access.roles`. A principal without a role gets 403 from every route that needs a role.';
const groupsMeaning = 'Groups of the principal, for the access lists of automations (gbac).';

const user = mapping({
  username: required(basicUsername('admin', { atMost }), 'User name, without a colon.'),
  passwordHash: required(argon2idHash, 'Output of `orchestration-gateway hash-password`.'),
  roles: required(roleList, rolesMeaning),
  groups: defaulted(groupList, '[]', groupsMeaning),
});

const client = mapping({
  clientId: required(
    basicUsername('reporting', { type: 'client id', atMost }),
    'OAuth client id, without a colon, different from every user name.',
  ),
  secretHash: required(argon2idHash, 'Output of `orchestration-gateway hash-password` for the client secret.'),
  roles: required(roleList, rolesMeaning),
  groups: defaulted(groupList, '[]', groupsMeaning),
  tokenLifetime: optional(duration('90d'), 'Lifetime of the tokens of this client, in place of `access.tokenLifetime`.'),
});

const claim = label({ type: 'claim name', example: 'roles' });

const remember = orZero(duration('3650d'));

const noGroup = 'holds a name that no group can have; write 1 to 256 characters, without white space at an end';
const isGroup = (name: string): boolean => name === name.trim() && /^[^\p{Cc}\p{Zl}\p{Zp}]{1,256}$/u.test(name);

const groupNames = named(groupName, {
  type: 'mapping of values to groups',
  example: '{ 9f1c6a52-0000-4000-8000-000000000000: noc }',
  refuse: (value) => (isGroup(value) ? undefined : noGroup),
});

const secretNeedsClient: Check = (place) => {
  const client = memberOf(place, 'consoleClientSecret');
  if (client !== undefined && memberOf(place, 'consoleClientId') === undefined) report(client, 'needs consoleClientId');
};

const issuer = mapping(
  {
    issuer: required(
      httpUrl({ example: 'https://login.example.net/realms/network', path: true }),
      'The exact `iss` claim of its tokens. The gateway finds the keys through the discovery document of the issuer.',
    ),
    audience: required(
      label({ type: 'audience', example: 'orchestration-gateway' }),
      'The `aud` claim of its tokens for this gateway.',
    ),
    rolesClaim: defaulted(claim, 'roles', 'Claim that lists the roles.'),
    groupsClaim: defaulted(claim, 'groups', 'Claim that lists the groups.'),
    groupNames: optional(
      groupNames,
      'Names of groups by the values of the claim. Where the key is given, any other value of this issuer is no group.',
    ),
    algorithms: defaulted(
      uniqueList(choice(...signatureAlgorithms), 1),
      '[RS256, ES256, EdDSA]',
      'Accepted signature algorithms, all of them asymmetric.',
    ),
    remember: defaulted(
      remember,
      '30d',
      'How long after the last token of a person its roles and groups count while the person is absent. With 0 they never do.',
    ),
    consoleClientId: optional(
      label({ type: 'client id', example: 'orchestration-gateway-console' }),
      'Client id of the console at the issuer. With it people log in to the console by this issuer.',
    ),
    consoleClientSecret: optional(
      secret({ refuse: basicPasswordFault }),
      'Secret of that client. Without it the console is a public client.',
    ),
  },
  secretNeedsClient,
);

const principalId = text({
  type: 'id of a principal',
  example: 'ann',
  parse: (value): Parsed<string> => {
    const id = idIn(value);
    if (id !== undefined) return { value: id };
    return { fault: `is no id of a principal; write a user name, a client id, or 'oidc:["ISSUER","SUBJECT"]' in quotes` };
  },
});

export function idIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.startsWith('oidc:')) return issuerId(value);
  return value === value.trim() && /^[^:\p{Cc}\p{Zl}\p{Zp}]{1,128}$/u.test(value) ? value : undefined;
}

function issuerId(value: string): string | undefined {
  try {
    const [issuedBy, subject, ...more] = JSON.parse(value.slice('oidc:'.length)) as readonly unknown[];
    if (typeof issuedBy !== 'string' || typeof subject !== 'string' || more.length > 0) return undefined;
    return idOfIssuer(issuedBy, subject);
  } catch {
    return undefined;
  }
}

const principalIds = uniqueList(principalId);

const personsAreDisjoint: Check = (place) => {
  const seen = new Map<string | undefined, string>();
  for (const { key, value } of entriesOf(place)) {
    for (const item of itemsOf(value)) {
      const id = idIn(scalarOf(item));
      const first = seen.get(id);
      if (first !== undefined && first !== key) report(item, `belongs to ${quote(first)} already; a principal is one person`);
      else if (id !== undefined) seen.set(id, key);
    }
  }
};

const persons = named(uniqueList(principalId, 1), {
  type: 'mapping of persons to lists of ids',
  example: '{ ann: [ann, ann-cli] }',
  refuse: (name) => (isGroup(name) ? undefined : 'holds a name that no person can have; write 1 to 256 characters'),
  checks: [personsAreDisjoint],
});

const groupRoles = named(roleList, {
  type: 'mapping of groups to lists of roles',
  example: '{ noc-leads: [engineering] }',
  refuse: (group) => (isGroup(group) ? undefined : noGroup),
});

/** Such an id may be a slip, and the intended principal goes on. */
const idsAreKnown: Check = (place) => {
  const names = namesOf(place);
  const issuers = itemsIn(place, 'oidc').map((item) => scalarOf(memberOf(item, 'issuer')));
  const ids = [...itemsIn(place, 'blocked'), ...valuesIn(place, 'persons').flatMap(itemsOf)];
  for (const item of ids) {
    const id = idIn(scalarOf(item));
    if (id === undefined) continue;
    const from = issuerOfId(id);
    if (from === undefined ? !names.has(id) : !issuers.includes(from))
      warn(item, 'names no user and no client, and no issuer that is configured');
  }
};

function namesOf(access: Place): ReadonlySet<unknown> {
  const users = itemsIn(access, 'users').map((item) => scalarOf(memberOf(item, 'username')));
  return new Set([...users, ...itemsIn(access, 'clients').map((item) => scalarOf(memberOf(item, 'clientId')))]);
}

function valuesIn(place: Place, key: string): readonly Place[] {
  const member = memberOf(place, key);
  return member === undefined ? [] : entriesOf(member).map(({ value }) => value);
}

const clientsAreNoUsers: Check = (place) => {
  const [users, clients] = [memberOf(place, 'users'), memberOf(place, 'clients')];
  if (users === undefined || clients === undefined) return;
  const usernames = new Map(itemsOf(users).map((item) => [scalarOf(memberOf(item, 'username')), item.path]));
  for (const item of itemsOf(clients)) {
    const clientId = memberOf(item, 'clientId');
    const name = scalarOf(clientId);
    if (clientId === undefined || typeof name !== 'string') continue;
    const taken = usernames.get(name);
    if (taken !== undefined) report(clientId, `is also the user name of ${taken}; each principal needs its own name`);
  }
};

const hasPrincipals: Check = (place) => {
  const isEmpty = ['users', 'clients', 'oidc'].every((key) => itemsIn(place, key).length === 0);
  if (isEmpty) warn(place, 'names no user, client or issuer: no caller can authenticate');
};

export const accessSection = mapping(
  {
    tokenLifetime: defaulted(duration('365d'), '1h', 'Lifetime of a session or an access token.'),
    users: defaulted(list(user, { checks: [unique('username')] }), '[]', 'Users that log in with a name and a password.'),
    clients: defaulted(list(client, { checks: [unique('clientId')] }), '[]', 'Programs that use OAuth client credentials.'),
    oidc: defaulted(
      list(issuer, { checks: [unique('issuer')] }),
      '[]',
      'OpenID Connect issuers whose bearer tokens the gateway accepts.',
    ),
    roles: defaulted(customRoleList, '[]', 'Roles of your own. They add rights to operations, and take none.'),
    groupRoles: defaulted(groupRoles, '{}', 'Roles of the members of a group, of users, clients and people of issuers alike.'),
    persons: defaulted(
      persons,
      '{}',
      'Principals that are one person, by a name of your choice: for approvals, where a person counts once, and for limits.',
    ),
    blocked: defaulted(
      principalIds,
      '[]',
      'Principals that may do nothing: no login, token, schedule, run, grant or call. Their open event streams end.',
    ),
  },
  clientsAreNoUsers,
  rolesAreDefined,
  idsAreKnown,
  hasPrincipals,
);
