import type { Role } from './principal.ts';

/** Who may call, as configured: the shape of the `access` section once it is read and checked. */
export interface AccessOptions {
  /** Milliseconds from the issue of a token or session to its end. */
  readonly tokenLifetime: number;
  readonly users: readonly UserOptions[];
  readonly clients: readonly ClientOptions[];
  readonly oidc: readonly IssuerOptions[];
}

/** A person. Hashes are PHC strings of argon2id (`parsePasswordHash` says what is accepted). */
export interface UserOptions {
  readonly username: string;
  readonly passwordHash: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}

/** A machine that asks for tokens with its secret (RFC 6749 section 4.4). */
export interface ClientOptions {
  readonly clientId: string;
  readonly secretHash: string;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
}

/** An OpenID Connect issuer whose tokens are accepted. Claim names may be dotted paths such as `realm_access.roles`. */
export interface IssuerOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly rolesClaim: string;
  readonly groupsClaim: string;
  readonly algorithms: readonly SignatureAlgorithm[];
}

/** Asymmetric ones only: with HS256 the published key of an issuer would be the secret (RFC 8725 section 2.1). */
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
