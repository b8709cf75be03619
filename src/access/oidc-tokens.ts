import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { IssuerOptions } from './access-options.ts';
import { principalOfClaims } from './oidc-claims.ts';
import type { IssuerKeys } from './oidc-keys.ts';
import type { CustomRole, Principal } from './principal.ts';
import { type RefusedToken, tokenFault } from './token-fault.ts';

/**
 * Access tokens and ID tokens. Logout tokens and proof tokens, signed with the same keys, are not accepted (RFC 8725 section
 * 3.11).
 */
const acceptableTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

const clockTolerance = 60;

export interface OidcToken {
  readonly principal: Principal;
  /** Milliseconds since the epoch, a safe integer for any `exp` that the issuer sent. */
  readonly expiresAt: number;
}

interface VerifyOptions {
  readonly issuer: IssuerOptions;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
  readonly customRoles: readonly CustomRole[];
  /** Whether a user or client of the configuration has that name, or one that looks like it. */
  readonly isTaken: (name: string) => boolean;
}

/** A fault if the token is not valid. Rejects with 503 if the keys of the issuer are not available, or may be out of date. */
export async function verifyOidcToken(token: string, options: VerifyOptions): Promise<OidcToken | RefusedToken> {
  const presentedAt = options.clock.monotonic();
  const verified = await verifiedClaims(token, await options.keys.get(), options);
  if (verified !== unknownKey) return verified;
  const renewed = await options.keys.renewed(presentedAt);
  return renewed === undefined ? unknownKey : await verifiedClaims(token, renewed, options);
}

const unknownKey: RefusedToken = { refused: 'unknown key' };

async function verifiedClaims(
  token: string,
  keys: JWTVerifyGetKey,
  { issuer, clock, customRoles, isTaken }: VerifyOptions,
): Promise<OidcToken | RefusedToken> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      algorithms: [...issuer.algorithms],
      issuer: issuer.issuer,
      audience: issuer.audience,
      requiredClaims: ['exp', 'sub'],
      clockTolerance,
      currentDate: new Date(clock.now()),
    });
    const { typ } = protectedHeader;
    if (typ !== undefined && !acceptableTypes.has(typ.toLowerCase())) return { refused: 'wrong type' };
    return toOidcToken(payload, principalOfClaims(payload, { ...issuer, customRoles, isTaken }));
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return unknownKey;
    const fault = tokenFault(error);
    if (fault === undefined) throw error;
    return fault;
  }
}

function toOidcToken({ exp }: JWTPayload, principal: Principal | undefined): OidcToken | RefusedToken {
  if (exp === undefined) return { refused: 'missing claim' };
  if (principal === undefined) return { refused: 'unusable name' };
  return { principal, expiresAt: Math.min(Math.ceil((exp + clockTolerance) * 1000), Number.MAX_SAFE_INTEGER) };
}
