import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { IssuerOptions } from './access-options.ts';
import { principalOfClaims } from './oidc-claims.ts';
import type { IssuerKeys } from './oidc-keys.ts';
import type { Principal } from './principal.ts';

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
}

/** `undefined` if the token is not valid. Rejects with 503 if the keys of the issuer are not available. */
export async function verifyOidcToken(token: string, options: VerifyOptions): Promise<OidcToken | undefined> {
  const payload = await verifiedClaims(token, await options.keys.get(), options);
  if (payload !== 'unknown-key') return toOidcToken(payload, options.issuer);
  const renewed = await options.keys.renewed();
  const again = renewed === undefined ? undefined : await verifiedClaims(token, renewed, options);
  return again === 'unknown-key' ? undefined : toOidcToken(again, options.issuer);
}

type Verified = JWTPayload | 'unknown-key' | undefined;

async function verifiedClaims(token: string, keys: JWTVerifyGetKey, { issuer, clock }: VerifyOptions): Promise<Verified> {
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
    return typ === undefined || acceptableTypes.has(typ.toLowerCase()) ? payload : undefined;
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return 'unknown-key';
    // TypeError: a published key that does not suit its algorithm, such as RSA below 2,048 bits.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) return undefined;
    throw error;
  }
}

function toOidcToken(payload: JWTPayload | undefined, issuer: IssuerOptions): OidcToken | undefined {
  if (payload?.exp === undefined) return undefined;
  const principal = principalOfClaims(payload, issuer);
  if (principal === undefined) return undefined;
  const expiresAt = Math.min(Math.ceil((payload.exp + clockTolerance) * 1000), Number.MAX_SAFE_INTEGER);
  return { principal, expiresAt };
}
