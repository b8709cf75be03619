import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { IssuerOptions } from './access-options.ts';
import type { IssuerKeys } from './oidc-keys.ts';
import { type RefusedToken, tokenFault } from './token-fault.ts';

/** Seconds by which the clocks of issuer and gateway may differ. */
export const clockTolerance = 60;

/** What a token of an issuer must have. */
export interface ClaimRules {
  readonly issuer: IssuerOptions;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
  readonly audience: string;
  /** Names of claims. */
  readonly required: readonly string[];
  /** In lower case; a token without `typ` is accepted too. */
  readonly types: ReadonlySet<string>;
}

interface VerifiedClaims {
  readonly claims: JWTPayload;
  /** Milliseconds since the epoch, a safe integer for any `exp` that the issuer sent. */
  readonly expiresAt: number;
}

/**
 * The claims of a token that is signed by its issuer, for that audience, and in time; else a fault. Rejects with 503 if the keys of the
 * issuer are not available, or may be out of date.
 */
export async function verifiedClaims(token: string, rules: ClaimRules): Promise<VerifiedClaims | RefusedToken> {
  const presentedAt = rules.clock.monotonic();
  const verified = await verifiedBy(await rules.keys.get(), token, rules);
  if (verified !== unknownKey) return verified;
  const renewed = await rules.keys.renewed(presentedAt);
  return renewed === undefined ? unknownKey : await verifiedBy(renewed, token, rules);
}

const unknownKey: RefusedToken = { refused: 'unknown key' };

async function verifiedBy(
  keys: JWTVerifyGetKey,
  token: string,
  { issuer, audience, required, types, clock }: ClaimRules,
): Promise<VerifiedClaims | RefusedToken> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      algorithms: [...issuer.algorithms],
      issuer: issuer.issuer,
      audience,
      requiredClaims: [...required],
      clockTolerance,
      currentDate: new Date(clock.now()),
    });
    const { typ } = protectedHeader;
    if (typ !== undefined && !types.has(typ.toLowerCase())) return { refused: 'wrong type' };
    const { exp } = payload;
    if (exp === undefined) return { refused: 'missing claim' };
    return { claims: payload, expiresAt: Math.min(Math.ceil((exp + clockTolerance) * 1000), Number.MAX_SAFE_INTEGER) };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return unknownKey;
    const fault = tokenFault(error);
    if (fault === undefined) throw error;
    return fault;
  }
}
