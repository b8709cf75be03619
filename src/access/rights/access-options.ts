import type { Secret } from '#base/secret.ts';
import type { CustomRole, RoleName } from '../principal.ts';
import type { Operation } from './operations.ts';

/** The section `access`, read and checked. */
export interface AccessOptions {
  /** Milliseconds. */
  readonly tokenLifetime: number;
  readonly users: readonly UserOptions[];
  readonly clients: readonly ClientOptions[];
  readonly oidc: readonly IssuerOptions[];
  readonly roles: readonly CustomRoleOptions[];
  /** Of the members of a group. */
  readonly groupRoles: Readonly<Record<string, readonly RoleName[]>>;
  /** Ids of the principals that are one person, by a name for people. */
  readonly persons: Readonly<Record<string, readonly string[]>>;
  /** Ids. */
  readonly blocked: readonly string[];
  /** By issuer: claims that are names at orchestrators (`auth.userClaims` of adapters). */
  readonly nameClaims?: Readonly<Record<string, readonly string[]>>;
}

/** It adds rights to those of the specification's roles, and takes none. */
export interface CustomRoleOptions {
  readonly name: CustomRole;
  readonly allows: readonly RightOptions[];
}

/** Relayed calls that match every list. An empty list matches any. */
export interface CallLists {
  /** A call without an adapter instance matches no name. */
  readonly adapters: readonly string[];
  /** Globs over the path before its `?`. */
  readonly paths: readonly string[];
  readonly methods: readonly RightMethod[];
}

/** Allows operations that match every list. An empty list matches any, but for `routes`. */
export interface RightOptions extends CallLists {
  /** Empty: the routes that relay a call. */
  readonly routes: readonly Operation[];
  /** Hosts, and origins such as `https://tickets.example.net:8443`. A call to an adapter instance matches none. */
  readonly destinations: readonly string[];
  /** Globs over ids. What has no workflow matches none. */
  readonly workflows: readonly string[];
  readonly via: readonly Entrance[];
}

export const rightMethods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'] as const;

type RightMethod = (typeof rightMethods)[number];

/** A call of a run that an MCP client started came by both. */
export const entrances = ['http', 'run', 'mcp'] as const;

export type Entrance = (typeof entrances)[number];

/** `parsePasswordHash` says which hashes are accepted. */
export interface UserOptions {
  readonly username: string;
  readonly passwordHash: string;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

/** Gets tokens for its client secret (RFC 6749 section 4.4). */
export interface ClientOptions {
  readonly clientId: string;
  readonly secretHash: string;
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
  /** Milliseconds; in place of `AccessOptions.tokenLifetime`. */
  readonly tokenLifetime?: number;
}

/** A claim name may be a dotted path such as `realm_access.roles`. */
export interface IssuerOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
  /** By value of the claim. Absent: each value is the name of a group. */
  readonly groupNames?: Readonly<Record<string, string>>;
  readonly algorithms: readonly SignatureAlgorithm[];
  /** Milliseconds after a token for which its roles and groups count while its person is absent. */
  readonly remember: number;
  /** Of the console at the issuer. Absent: people cannot log in by it. */
  readonly consoleClientId?: string;
  /** Absent: a public client. */
  readonly consoleClientSecret?: Secret;
}

/** Asymmetric ones only: with HS256 the published key would also sign (RFC 8725 section 2.1). */
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
