import { signatureAlgorithms } from '#access/access-options.ts';
import { parsePasswordHash } from '#access/password-hash.ts';
import { httpUrl } from './address-shapes.ts';
import { basicUsername } from './dialling-shapes.ts';
import { itemsOf, memberOf, scalarOf } from './place.ts';
import { customRoleList, groupList, roleList, rolesAreDefined } from './role-shapes.ts';
import { choice, duration, label, orZero, type Parsed, text } from './scalar-shapes.ts';
import { type Check, defaulted, list, mapping, optional, required, type Shape, unique } from './shape.ts';

/** Longest name of a user or client, in characters. */
const atMost = 128;

/** A PHC string of argon2id, as `parsePasswordHash` accepts it. No message quotes the value. */
const argon2idHash: Shape<string> = text({
  type: 'argon2id hash',
  example: "'$argon2id$v=19$…'",
  parse: (value): Parsed<string> =>
    parsePasswordHash(value) === undefined
      ? { fault: 'is no argon2id hash; make one with the command hash-password (and quote it inside { })' }
      : { value },
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
});

const claim = label({ type: 'claim name', example: 'roles' });

const remember = orZero(duration('3650d'));

const issuer = mapping({
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
  algorithms: defaulted(
    list(choice(...signatureAlgorithms), { atLeast: 1, checks: [unique()] }),
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
    'Client id of the console at the issuer, a public client. With it people log in to the console by this issuer.',
  ),
});

/** The name identifies a principal, so a client and a user must not have the same name. */
const clientsAreNoUsers: Check = (place) => {
  const [users, clients] = [memberOf(place, 'users'), memberOf(place, 'clients')];
  if (users === undefined || clients === undefined) return;
  const usernames = new Map(itemsOf(users).map((item) => [scalarOf(memberOf(item, 'username')), item.path]));
  for (const item of itemsOf(clients)) {
    const clientId = memberOf(item, 'clientId');
    const name = scalarOf(clientId);
    if (clientId === undefined || typeof name !== 'string') continue;
    const taken = usernames.get(name);
    if (taken !== undefined)
      place.reading.problem(clientId, `is also the user name of ${taken}; each principal needs its own name`);
  }
};

const hasPrincipals: Check = (place) => {
  const isEmpty = ['users', 'clients', 'oidc'].every((key) => {
    const member = memberOf(place, key);
    return member === undefined || itemsOf(member).length === 0;
  });
  if (isEmpty) place.reading.warning(place, 'names no user, client or issuer: no caller can authenticate');
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
  },
  clientsAreNoUsers,
  rolesAreDefined,
  hasPrincipals,
);
