import { quote } from '#yaml/wording.ts';
import { httpUrl } from '../shapes/address-shapes.ts';
import { authorityFile, path } from '../shapes/pem-shapes.ts';
import { entriesOf, memberOf, type Place, report } from '../shapes/place.ts';
import { label } from '../shapes/scalar-shapes.ts';
import { defaulted, mapping, optional, required, type Shape } from '../shapes/shape.ts';
import { ownKinds } from './own-kinds.ts';
import { readSecret, type SourceKind } from './secret-reading.ts';
import { VaultClient, type VaultLogin } from './vault-client.ts';

const tokenFault = (value: string): string | undefined =>
  /^[\x21-\x7e]+$/u.test(value) ? undefined : 'has other characters than visible ASCII (a stray newline?)';

/** Its own secrets come from no vault. */
const ownSecret = { type: 'secret', read: (place: Place) => readSecret(place, { kinds: ownKinds, refuse: tokenFault }) };

const mount = label({
  type: 'mount',
  example: 'approle',
  refuse: (value) => (/^[\w.-]+(?:\/[\w.-]+)*$/u.test(value) ? undefined : `${quote(value)} is no mount`),
});

const logins = mapping(
  {
    appRole: optional(
      mapping({
        roleId: required(label({ type: 'role id', example: '59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8' }), 'Role id.'),
        secretId: required(ownSecret, 'Secret id, from any source but the vault.'),
        mount: defaulted(mount, 'approle', 'Where the method is mounted, after `auth/`.'),
      }),
      'Login by AppRole.',
    ),
    kubernetes: optional(
      mapping({
        role: required(label({ type: 'role', example: 'orchestration-gateway' }), 'Role.'),
        mount: defaulted(mount, 'kubernetes', 'Where the method is mounted, after `auth/`.'),
        tokenFile: defaulted(
          path,
          '/var/run/secrets/kubernetes.io/serviceaccount/token',
          'File with the token of the service account, read at each login.',
        ),
      }),
      'Login by the service account of Kubernetes.',
    ),
    token: optional(mapping({ value: required(ownSecret, 'The token, from any source but the vault.') }), 'A token.'),
  },
  (place) => {
    if (entriesOf(place).length !== 1) report(place, 'needs exactly one of appRole, kubernetes and token');
  },
);

type Logins = NonNullable<Awaited<ReturnType<typeof logins.read>>>;

/** The template of `init` cannot have all three, so the keys of each are in the text of the page. */
const oneLogin: Shape<Logins> = {
  type: 'mapping of appRole, kubernetes or token',
  read: (place) => logins.read(place),
};

const section = mapping({
  url: required(httpUrl({ example: 'https://vault.example.net:8200', path: true }), 'Address of the vault.'),
  namespace: optional(label({ type: 'namespace', example: 'network/noc' }), 'Namespace, sent as `X-Vault-Namespace`.'),
  caFile: optional(authorityFile, "PEM file of certificate authorities, in addition to Node's own."),
  auth: required(oneLogin, 'How the gateway logs in: exactly one of `appRole`, `kubernetes` and `token`. See below.'),
});

/** Read by the first secret that needs it, or in its turn. */
export const vaultSection: Shape<VaultClient> = {
  ...section,
  read: (place) => place.reading.once('vault', () => clientOf(place)),
};

async function clientOf(place: Place): Promise<VaultClient | undefined> {
  const read = await section.read(place);
  const login = read === undefined ? undefined : loginOf(read.auth);
  if (read === undefined || login === undefined) return undefined;
  const { url, namespace, caFile: ca } = read;
  return new VaultClient({ url, namespace, ca, login, key: JSON.stringify([ca, place.node.json]) });
}

function loginOf({ appRole, kubernetes, token }: Logins): VaultLogin | undefined {
  if (appRole !== undefined) return { kind: 'appRole', ...appRole };
  if (kubernetes !== undefined) return { kind: 'kubernetes', ...kubernetes };
  return token === undefined ? undefined : { kind: 'token', ...token };
}

const vaultMembers = mapping({
  vault: required(
    label({
      type: 'path',
      example: 'secret/noc/nso',
      atMost: 1_024,
      refuse: (value) => {
        const segments = value.split('/');
        if (segments.length < 2 || segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
          return 'is no path; write the mount and the path, e.g. secret/noc/nso';
        return segments[1] === 'data' ? 'has "data/" after its mount, which the gateway adds; leave it out' : undefined;
      },
    }),
    'The mount, and the path without `data/`.',
  ),
  key: required(label({ type: 'key', example: 'password' }), 'Which of its values.'),
});

export const vaultKind: SourceKind = {
  form: '{ vault: PATH, key: NAME }',
  async source({ place, at }) {
    const read = await vaultMembers.read(place);
    const configured = memberOf(place.reading.root, 'vault');
    if (configured === undefined) return report(at, 'needs the section vault, with url and auth');
    const client = await vaultSection.read(configured);
    return read === undefined || client === undefined ? undefined : client.source(read.vault, read.key);
  },
};
