import { randomBytes } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { Account, AccountKind } from './accounts.ts';
import { type SigningKeys, signingAlgorithm } from './signing-keys.ts';
import { type RefusedToken, tokenFault } from './token-fault.ts';

/**
 * `iss` and `aud` of the gateway's own tokens. A token of another issuer fails here, and a token of the gateway fails elsewhere
 * (RFC 8725 sections 3.8 and 3.9).
 */
export const gatewayIssuer = 'orchestration-gateway';

/** With this `typ`, no other kind of JWT passes for an access token (RFC 9068). */
const tokenType = 'at+jwt';

/**
 * The claims of a token of the gateway. Roles and groups are not among them: the configuration at the time of the call decides.
 */
export interface GatewayToken {
  readonly kind: AccountKind;
  readonly name: string;
  /** `Account.fingerprint` when the token was issued. */
  readonly fingerprint: string;
  readonly jti: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch, a multiple of 1,000. */
  readonly expiresAt: number;
  readonly lifetimeSeconds: number;
}

export interface GatewayTokens {
  /** `lifetime` in milliseconds; the token is valid for one second at least. */
  issue(account: Account, lifetime: number): Promise<IssuedToken>;
  /**
   * A fault unless the token is a valid token of the gateway now. Rejects with 503 if the key has to come from the store and the
   * store is away.
   */
  verify(token: string): Promise<GatewayToken | RefusedToken>;
}

/**
 * Signs and verifies tokens as JWTs (RFC 7519) by the rules of RFC 8725. There is one algorithm, keys come only from the
 * gateway's own store, and every claim is required.
 */
export function createGatewayTokens({ keys, clock }: { readonly keys: SigningKeys; readonly clock: Clock }): GatewayTokens {
  return {
    async issue({ kind, principal, fingerprint }, lifetime) {
      const lifetimeSeconds = Math.max(1, Math.floor(lifetime / 1000));
      const issuedAt = Math.floor(clock.now() / 1000);
      const expires = issuedAt + lifetimeSeconds;
      const { kid, key } = keys.current();
      const token = await new SignJWT({ kind, fpr: fingerprint })
        .setProtectedHeader({ alg: signingAlgorithm, typ: tokenType, kid })
        .setIssuer(gatewayIssuer)
        .setAudience(gatewayIssuer)
        .setSubject(principal.username)
        .setJti(randomBytes(16).toString('base64url'))
        .setIssuedAt(issuedAt)
        .setExpirationTime(expires)
        .sign(key);
      return { token, expiresAt: expires * 1000, lifetimeSeconds };
    },

    async verify(token) {
      const kid = keyIdOf(token);
      const key = kid === undefined ? undefined : await keys.find(kid);
      if (key === undefined) return { refused: 'unknown key' };
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [signingAlgorithm],
          issuer: gatewayIssuer,
          audience: gatewayIssuer,
          typ: tokenType,
          requiredClaims: ['exp', 'iat', 'jti', 'sub'],
          currentDate: new Date(clock.now()),
        });
        return toGatewayToken(payload);
      } catch (error) {
        const fault = tokenFault(error);
        if (fault === undefined) throw error;
        return fault;
      }
    },
  };
}

function keyIdOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid;
  } catch {
    return undefined;
  }
}

const malformed: RefusedToken = { refused: 'malformed' };

function toGatewayToken(claims: Readonly<Record<string, unknown>>): GatewayToken | RefusedToken {
  const { kind, sub, fpr, jti, exp } = claims;
  if (kind !== 'user' && kind !== 'client') return malformed;
  if (typeof sub !== 'string' || typeof fpr !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return malformed;
  return { kind, name: sub, fingerprint: fpr, jti, expiresAt: exp * 1000 };
}
