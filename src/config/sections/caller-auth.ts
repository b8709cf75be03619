import { createPrivateKey } from 'node:crypto';
import { type AdapterKindName, adapterKindNames } from '#adapters/adapter-kind.ts';
import type { Carrier } from '#adapters/credentials/caller-identity.ts';
import type { CallerAuthentication, OwnAuthentication } from '#adapters/credentials/credentials.ts';
import { isOrchestratorName, reservedAccounts } from '#adapters/credentials/reserved-accounts.ts';
import type { Secret } from '#base/secret.ts';
import { entriesOf, itemsIn, memberOf, type Place, report, scalarOf, warn } from '../shapes/place.ts';
import { choice, label, plainText } from '../shapes/scalar-shapes.ts';
import { secret } from '../shapes/secret-shape.ts';
import { type Check, defaulted, mapped, mapping, named, optional, required, type Shape, uniqueList } from '../shapes/shape.ts';
import { idIn } from './access-section.ts';

type Written = Omit<CallerAuthentication, 'audience' | 'carrier'> & { readonly audience?: string; readonly carrier?: Carrier };

const name = plainText({
  type: 'name at the orchestrator',
  example: 'ann',
  refuse: (value) =>
    isOrchestratorName(value)
      ? undefined
      : 'is no name of an account or a group there; write letters, digits and ._@+- (at most 128)',
});

const users = named(name, {
  type: 'mapping of principals to names',
  example: `{ 'oidc:["https://login.example.net","4711"]': ann }`,
  refuse: (id) => (idIn(id) === undefined ? 'holds a key that is no id of a principal' : undefined),
});

const userClaims = named(label({ type: 'claim name', example: 'preferred_username' }), {
  type: 'mapping of issuers to claims',
  example: '{ "https://login.example.net": preferred_username }',
  refuse: (issuer) => (URL.canParse(issuer) ? undefined : 'holds a key that is no issuer; write the exact iss of its tokens'),
});

const isPeople = (text: string): boolean => /^(?:group|role):\S(?:.*\S)?$/u.test(text);
const bareName = 'names a group or a role without saying which; write group:NAME or role:NAME';

const groups = named(name, {
  type: 'mapping of groups and roles to groups of the orchestrator',
  example: "{ 'group:noc': ncsoper, 'role:admin': ncsadmin }",
  refuse: (people) => (isPeople(people) ? undefined : bareName),
});

const people = plainText({
  type: 'group or role',
  example: 'role:admin',
  refuse: (value) => (isPeople(value) ? undefined : bareName),
});

const smallestKey = 2_048;

const signingKey: Shape<Secret> = mapped(secret(), (pem, place) => {
  const fault = keyFault(pem.reveal());
  return fault === undefined ? pem : report(place, fault);
});

/** Never quotes the key. */
function keyFault(pem: string): string | undefined {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPrivateKey(pem);
    if (type === 'ed25519') return undefined;
    if (type !== 'rsa') return 'is a key of another kind; use an RSA or an Ed25519 key';
    return (details?.modulusLength ?? 0) < smallestKey ? `is too short; an RSA key needs ${smallestKey} bits or more` : undefined;
  } catch {
    return 'holds no private key in PEM form that can be read; it must not be encrypted';
  }
}

/** `service`: the other ways to authenticate. */
export function callerShape(service: Shape<OwnAuthentication>): Shape<Written> {
  return mapping({
    type: required(choice('caller'), 'Each call has an assertion of its caller, signed by the gateway.'),
    carrier: optional(
      choice('token', 'basic', 'bearer'),
      'How the assertion travels. Kind nso: `token` (`X-Auth-Token`, the default) or `basic` (password of HTTP Basic); other kinds: `bearer`.',
    ),
    key: required(signingKey, 'Private key that signs, PEM: RSA of 2048 bits or more, or Ed25519.'),
    audience: optional(
      label({ type: 'audience', example: 'nso-lab' }),
      'The `aud` of the assertions. Default: the name of the adapter.',
    ),
    users: defaulted(users, '{}', 'Names at the orchestrator by the ids of principals. A client needs an entry.'),
    userClaims: defaulted(userClaims, '{}', 'By issuer: the claim that is the name at the orchestrator.'),
    groups: defaulted(groups, '{}', 'Groups of the orchestrator by `group:NAME` or `role:NAME`. No other group is sent.'),
    authors: defaulted(
      uniqueList(people),
      '["role:admin"]',
      'Whose workflows and automations run with all groups of the starter: `group:NAME` or `role:NAME`.',
    ),
    runs: defaulted(choice('starter', 'owner'), 'starter', 'In whose name the calls of a run are made.'),
    service: optional(service, 'Account of the gateway itself, for probes and the YANG library alone.'),
  });
}

/** With the defaults that follow from the adapter. */
export function settleCaller(
  auth: Written | OwnAuthentication,
  adapter: { readonly name: string; readonly kind: AdapterKindName },
) {
  if (auth.type !== 'caller') return auth;
  const users = Object.fromEntries(Object.entries(auth.users).map(([id, name]) => [idIn(id) ?? id, name]));
  return { ...auth, users, carrier: auth.carrier ?? carriers[adapter.kind][0], audience: auth.audience ?? adapter.name };
}

const carriers: Readonly<Record<AdapterKindName, readonly [Carrier, ...Carrier[]]>> = {
  nso: ['token', 'basic'],
  restconf: ['bearer'],
  rest: ['bearer'],
};

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** Of an adapter with `auth: caller`. */
export const callersAreSafe: Check = (place) => {
  const auth = memberOf(place, 'auth');
  if (auth === undefined || scalarOf(memberOf(auth, 'type')) !== 'caller') return;
  const url = memberOf(place, 'url');
  const urls = [...(url === undefined ? [] : [url]), ...itemsIn(place, 'urls')];
  for (const one of urls) refusePlainText(one);
  refuseCarrier(place, auth);
  const service = memberOf(auth, 'service');
  if (service !== undefined) return;
  if (urls.length > 1) report(auth, 'needs service: without probes the gateway does not find the primary of several addresses');
  const stamp = memberOf(place, 'stamp');
  if (scalarOf(stamp) === true && stamp !== undefined)
    report(stamp, 'needs auth.service: the gateway reads from the YANG library how the orchestrator takes a stamp');
};

function refusePlainText(url: Place): void {
  const text = scalarOf(url);
  if (typeof text !== 'string' || !URL.canParse(text)) return;
  const { protocol, hostname } = new URL(text);
  if (protocol === 'http:' && !loopback.test(hostname))
    report(url, 'begins with http://, which sends assertions in plain text; write https://, or a loopback address');
}

function refuseCarrier(place: Place, auth: Place): void {
  const carrier = memberOf(auth, 'carrier');
  const written = scalarOf(carrier);
  const kind = adapterKindNames.find((one) => one === scalarOf(memberOf(place, 'kind')));
  if (carrier === undefined || kind === undefined || typeof written !== 'string') return;
  const known: readonly string[] = carriers[kind];
  if (!known.includes(written)) report(carrier, `is not for kind ${kind}; write ${known.join(' or ')}`);
}

/** Of the whole file. A reserved name is refused by the orchestrator, and an issuer that is not there gives no name. */
export const callersHaveNames: Check = (root) => {
  const access = memberOf(root, 'access');
  const issuers = access === undefined ? [] : itemsIn(access, 'oidc').map((one) => scalarOf(memberOf(one, 'issuer')));
  for (const adapter of itemsIn(root, 'adapters')) {
    const auth = memberOf(adapter, 'auth');
    if (auth !== undefined && scalarOf(memberOf(auth, 'type')) === 'caller') warnOfNames(auth, access, issuers);
  }
};

function warnOfNames(auth: Place, access: Place | undefined, issuers: readonly unknown[]): void {
  const [users, claims] = ['users', 'userClaims'].map((key) => memberOf(auth, key));
  const entries = users === undefined ? [] : entriesOf(users);
  for (const { value } of entries) if (reservedAccounts.has(String(scalarOf(value)))) warn(value, reserved);
  warnOfOwnNames(auth, access, new Set(entries.map(({ key }) => key)));
  for (const { key, keyPlace } of claims === undefined ? [] : entriesOf(claims))
    if (!issuers.includes(key)) warn(keyPlace, 'names no issuer of access.oidc');
}

const reserved = 'is a name that NSO reserves; verify-assertion refuses it, unless its settings allow it';

/** A user without an entry has its own name there. */
function warnOfOwnNames(auth: Place, access: Place | undefined, mapped: ReadonlySet<string>): void {
  for (const user of access === undefined ? [] : itemsIn(access, 'users')) {
    const own = String(scalarOf(memberOf(user, 'username')));
    if (!mapped.has(own) && reservedAccounts.has(own)) warn(auth, `gives the user ${own} its own name, which ${reserved}`);
  }
}
