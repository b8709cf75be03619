import type { JWTPayload } from 'jose';
import type { Clock } from '#base/clock.ts';
import { type ClaimRules, verifiedClaims } from './issuer-claims.ts';
import { principalOfClaims } from './oidc-claims.ts';
import type { CustomRole, Principal } from './principal.ts';
import type { RefusedToken } from './token-fault.ts';

/**
 * Access tokens and ID tokens. Logout tokens and proof tokens, signed with the same keys, are not accepted (RFC 8725 section
 * 3.11).
 */
const acceptableTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

export interface OidcToken {
  readonly principal: Principal;
  readonly claims: JWTPayload;
  /** Milliseconds since the epoch, a safe integer for any `exp` that the issuer sent. */
  readonly expiresAt: number;
}

interface VerifyOptions extends Pick<ClaimRules, 'issuer' | 'keys'> {
  readonly clock: Clock;
  readonly customRoles: readonly CustomRole[];
  /** Whether a user or client of the configuration has that name, or one that looks like it. */
  readonly isTaken: (name: string) => boolean;
}

/** A fault if the token is not valid. Rejects with 503 if the keys of the issuer are not available, or may be out of date. */
export async function verifyOidcToken(token: string, options: VerifyOptions): Promise<OidcToken | RefusedToken> {
  const { issuer, customRoles, isTaken } = options;
  const rules = { ...options, audience: issuer.audience, required: ['exp', 'sub'], types: acceptableTypes };
  const verified = await verifiedClaims(token, rules);
  if ('refused' in verified) return verified;
  const { claims, expiresAt } = verified;
  const principal = principalOfClaims(claims, { ...issuer, customRoles, isTaken });
  return principal === undefined ? { refused: 'unusable name' } : { principal, claims, expiresAt };
}
