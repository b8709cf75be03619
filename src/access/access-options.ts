import type { Role } from './principal.ts';

/** The `access` section of the configuration, read and checked. */
export interface AccessOptions {
  /** Milliseconds for which a token or session is valid. */
  readonly tokenLifetime: number;
  readonly users: readonly UserOptions[];
  readonly clients: readonly ClientOptions[];
  readonly oidc: readonly IssuerOptions[];
}

/** A person. `parsePasswordHash` says which argon2id PHC strings are accepted as hashes. */
export interface UserOptions {
  readonly username: string;
  readonly passwordHash: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}

/** A machine that gets tokens for its client secret (RFC 6749 section 4.4). */
export interface ClientOptions {
  readonly clientId: string;
  readonly secretHash: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}

/** An OpenID Connect issuer whose tokens are accepted. A claim name may be a dotted path such as `realm_access.roles`. */
export interface IssuerOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
  readonly algorithms: readonly SignatureAlgorithm[];
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
