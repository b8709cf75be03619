import { signatureAlgorithms } from '#access/access-options.ts';
import { parsePasswordHash } from '#access/password-hash.ts';
import { roles } from '#access/principal.ts';
import { httpUrl } from './address-shapes.ts';
import { basicUsername } from './dialling-shapes.ts';
import { itemsOf, memberOf, scalarOf } from './place.ts';
import { choice, duration, label, type Parsed, text } from './scalar-shapes.ts';
import { type Check, defaulted, list, mapping, required, type Shape, unique } from './shape.ts';

/** Characters of a user's or client's name. */
const atMost = 128;

/** A PHC string of argon2id, as `parsePasswordHash` accepts it. Never quoted. */
const argon2idHash: Shape<string> = text({
  type: 'argon2id hash',
  example: "'$argon2id$v=19$…'",
  parse: (value): Parsed<string> =>
    parsePasswordHash(value) === undefined
      ? { fault: 'is no argon2id hash; make one with: orchestration-gateway hash-password (and quote it inside { })' }
      : { value },
});

const roleList = list(choice(...roles), { checks: [unique()] });
const groupList = list(label({ type: 'group', example: 'network-team', atMost: 256 }), { checks: [unique()] });

const rolesMeaning = 'What the principal may do; a principal without a role may do nothing.';
const groupsMeaning = 'Groups that the access lists of automations name.';

const user = mapping({
  username: required(basicUsername('admin', { atMost }), 'Name to log in with; no colon.'),
  passwordHash: required(argon2idHash, 'Output of: orchestration-gateway hash-password.'),
  roles: required(roleList, rolesMeaning),
  groups: defaulted(groupList, '[]', groupsMeaning),
});

const client = mapping({
  clientId: required(
    basicUsername('reporting', { type: 'client id', atMost }),
    'OAuth client id; no colon, and different from every user name.',
  ),
  secretHash: required(argon2idHash, 'Output of: orchestration-gateway hash-password, for the client secret.'),
  roles: required(roleList, rolesMeaning),
  groups: defaulted(groupList, '[]', groupsMeaning),
});

const claim = label({ type: 'claim name', example: 'roles' });

const issuer = mapping({
  issuer: required(
    httpUrl({ example: 'https://login.example.net/realms/network', path: true }),
    'The issuer exactly as its tokens name it; its keys are found through its discovery document.',
  ),
  audience: required(
    label({ type: 'audience', example: 'orchestration-gateway' }),
    'The audience that its tokens for this gateway carry.',
  ),
  rolesClaim: defaulted(claim, 'roles', 'Claim that lists the roles.'),
  groupsClaim: defaulted(claim, 'groups', 'Claim that lists the groups.'),
  algorithms: defaulted(
    list(choice(...signatureAlgorithms), { atLeast: 1, checks: [unique()] }),
    '[RS256, ES256, EdDSA]',
    'Signature algorithms that are accepted; asymmetric ones only.',
  ),
});

/** A principal is known by its name alone, so a client may not share one with a user. */
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
      place.reading.problem(clientId, `is the user name of ${taken} as well; each principal needs its own name`);
  }
};

const somebodyMayCall: Check = (place) => {
  const isEmpty = ['users', 'clients', 'oidc'].every((key) => {
    const member = memberOf(place, key);
    return member === undefined || itemsOf(member).length === 0;
  });
  if (isEmpty) place.reading.warning(place, 'names no user, client or issuer: nobody can call this gateway');
};

export const accessSection = mapping(
  {
    tokenLifetime: defaulted(duration('365d'), '1h', 'How long a session or an access token is valid.'),
    users: defaulted(list(user, { checks: [unique('username')] }), '[]', 'Who logs in with a name and a password.'),
    clients: defaulted(list(client, { checks: [unique('clientId')] }), '[]', 'Programs that use OAuth client credentials.'),
    oidc: defaulted(
      list(issuer, { checks: [unique('issuer')] }),
      '[]',
      'OpenID Connect issuers whose bearer tokens are accepted.',
    ),
  },
  clientsAreNoUsers,
  somebodyMayCall,
);
