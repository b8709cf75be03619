import { randomBytes } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { Account, AccountKind } from './accounts.ts';
import { type SigningKeys, signingAlgorithm } from './signing-keys.ts';

/** `iss` and `aud` of our own tokens: what another system signs is never ours, and ours is good nowhere else (RFC 8725 3.8, 3.9). */
export const gatewayIssuer = 'orchestration-gateway';

/** RFC 9068: an access token cannot be mistaken for another kind of JWT. */
const tokenType = 'at+jwt';

/** What a token of ours says. Roles and groups are not in it: they are the configuration's, at the time of the call. */
export interface GatewayToken {
  readonly kind: AccountKind;
  readonly name: string;
  /** Of the account's password hash when the token was made. */
  readonly fingerprint: string;
  readonly jti: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch, whole seconds. */
  readonly expiresAt: number;
  readonly lifetimeSeconds: number;
}

export interface GatewayTokens {
  /** `lifetime` in milliseconds; a second at least. */
  issue(account: Account, lifetime: number): Promise<IssuedToken>;
  /** `undefined` for whatever is not a valid token of ours now. Rejects with 503 where a key would have to be fetched and cannot. */
  verify(token: string): Promise<GatewayToken | undefined>;
}

/** Tokens as JWTs (RFC 7519), signed and judged by RFC 8725: one algorithm, keys by id from our own store, everything required. */
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
      if (key === undefined) return undefined;
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
        if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
        throw error;
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

function toGatewayToken(claims: Readonly<Record<string, unknown>>): GatewayToken | undefined {
  const { kind, sub, fpr, jti, exp } = claims;
  if (kind !== 'user' && kind !== 'client') return undefined;
  if (typeof sub !== 'string' || typeof fpr !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return undefined;
  return { kind, name: sub, fingerprint: fpr, jti, expiresAt: exp * 1000 };
}
