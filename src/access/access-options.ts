import type { Secret } from '#base/secret.ts';
import type { Operation } from './operations.ts';
import type { CustomRole, RoleName } from './principal.ts';

/** The `access` section of the configuration, read and checked. */
export interface AccessOptions {
  /** Milliseconds for which a token or session is valid. */
  readonly tokenLifetime: number;
  readonly users: readonly UserOptions[];
  readonly clients: readonly ClientOptions[];
  readonly oidc: readonly IssuerOptions[];
  readonly roles: readonly CustomRoleOptions[];
  /** Roles of the members of a group. */
  readonly groupRoles: Readonly<Record<string, readonly RoleName[]>>;
  /** Ids of the principals that are one person, by a name for people. */
  readonly persons: Readonly<Record<string, readonly string[]>>;
  /** Ids of principals that may do nothing. */
  readonly blocked: readonly string[];
}

/** A role that the operator defines. It adds rights to those of the specification's roles, and takes none. */
export interface CustomRoleOptions {
  readonly name: CustomRole;
  readonly allows: readonly RightOptions[];
}

/** The relayed calls that match every list. An empty list matches any call. */
export interface CallLists {
  /** Names of adapter instances. A call without an adapter instance matches no name. */
  readonly adapters: readonly string[];
  /** Globs over the path before its `?`. */
  readonly paths: readonly string[];
  readonly methods: readonly RightMethod[];
}

/** A right: it allows the operations that match every list. An empty list matches any, but for `routes`. */
export interface RightOptions extends CallLists {
  /** By their operationId. Empty: the routes that relay a call. */
  readonly routes: readonly Operation[];
  /** Hosts, and origins such as `https://tickets.example.net:8443`. A call to an adapter instance matches none. */
  readonly destinations: readonly string[];
  /** Globs over ids of workflows. What has no workflow matches none. */
  readonly workflows: readonly string[];
  /** The entrances at which the right counts. */
  readonly via: readonly Entrance[];
}

export const rightMethods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'] as const;

type RightMethod = (typeof rightMethods)[number];

/**
 * The ways by which a call or another operation comes: a request over HTTP, a run, an MCP client. A call of a run that an MCP client started came by
 * both.
 */
export const entrances = ['http', 'run', 'mcp'] as const;

export type Entrance = (typeof entrances)[number];

/** A person. `parsePasswordHash` says which argon2id PHC strings are accepted as hashes. */
export interface UserOptions {
  readonly username: string;
  readonly passwordHash: string;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

/** A machine that gets tokens for its client secret (RFC 6749 section 4.4). */
export interface ClientOptions {
  readonly clientId: string;
  readonly secretHash: string;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
  /** Milliseconds; in place of `AccessOptions.tokenLifetime`. */
  readonly tokenLifetime?: number;
}

/** An OpenID Connect issuer whose tokens are accepted. A claim name may be a dotted path such as `realm_access.roles`. */
export interface IssuerOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
  /** The groups that values of the claim are. Absent: each value is the name of a group. */
  readonly groupNames?: Readonly<Record<string, string>>;
  readonly algorithms: readonly SignatureAlgorithm[];
  /** Milliseconds after a token for which its roles and groups count where its person is absent; 0: they never do. */
  readonly remember: number;
  /** The id under which the console is a client of the issuer. Absent: people cannot log in by it. */
  readonly consoleClientId?: string;
  /** Absent: the console is a public client. */
  readonly consoleClientSecret?: Secret;
}

/**
 * Asymmetric algorithms only. With HS256, the published key of an issuer would also be the secret that signs (RFC 8725 section
 * 2.1).
 */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];
