import { randomBytes } from 'node:crypto';
import { decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { AccountKind } from '../accounts.ts';
import { type SigningKeys, signingAlgorithm } from './signing-keys.ts';
import { type RefusedToken, tokenFault } from './token-fault.ts';

/** `iss` and `aud`: a token of another issuer fails here, and one of the gateway elsewhere (RFC 8725 sections 3.8 and 3.9). */
export const gatewayIssuer = 'orchestration-gateway';

/** No other kind of JWT passes for an access token (RFC 9068). */
const tokenType = 'at+jwt';

/** A user or client: the configuration at the time of the call decides its roles and groups. */
export interface AccountHolder {
  readonly kind: AccountKind;
  readonly name: string;
  /** `Account.fingerprint` at the issue. */
  readonly fingerprint: string;
}

/** A person, with what the ID token said. */
export interface IssuerHolder {
  readonly kind: 'oidc';
  /** The subject. */
  readonly name: string;
  /** `TrustedIssuer.fingerprint` at the issue. */
  readonly fingerprint: string;
  readonly issuer: string;
  /** `preferred_username`. */
  readonly preferred?: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}

export type TokenHolder = AccountHolder | IssuerHolder;

interface GatewayToken {
  readonly holder: TokenHolder;
  readonly jti: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type GatewayTokens = ReturnType<typeof createGatewayTokens>;

/** JWTs (RFC 7519) by the rules of RFC 8725: one algorithm, keys of the gateway's store alone, every claim required. */
export function createGatewayTokens({ keys, clock }: { readonly keys: SigningKeys; readonly clock: Clock }) {
  return {
    /** `lifetime` in milliseconds, at least one second. `expiresAt`: milliseconds since the epoch, a multiple of 1,000. */
    async issue(holder: TokenHolder, lifetime: number) {
      const lifetimeSeconds = Math.max(1, Math.floor(lifetime / 1000));
      const issuedAt = Math.floor(clock.now() / 1000);
      const expires = issuedAt + lifetimeSeconds;
      const { kid, key } = keys.current();
      const token = await new SignJWT(claimsOf(holder))
        .setProtectedHeader({ alg: signingAlgorithm, typ: tokenType, kid })
        .setIssuer(gatewayIssuer)
        .setAudience(gatewayIssuer)
        .setSubject(holder.name)
        .setJti(randomBytes(16).toString('base64url'))
        .setIssuedAt(issuedAt)
        .setExpirationTime(expires)
        .sign(key);
      return { token, expiresAt: expires * 1000, lifetimeSeconds };
    },

    /** Rejects with 503 if the key has to come from the store and the store is away. */
    async verify(token: string): Promise<GatewayToken | RefusedToken> {
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
        const { jti, exp } = payload as Readonly<Record<string, unknown>>;
        const holder = holderOf(payload);
        if (holder === undefined || typeof jti !== 'string' || typeof exp !== 'number') return { refused: 'malformed' };
        return { holder, jti, expiresAt: exp * 1000 };
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

function claimsOf(holder: TokenHolder): JWTPayload {
  const { kind, fingerprint: fpr } = holder;
  if (holder.kind !== 'oidc') return { kind, fpr };
  const { issuer: idp, preferred, roles, groups } = holder;
  return { kind, fpr, idp, preferred, roles, groups };
}

function holderOf(claims: Readonly<Record<string, unknown>>): TokenHolder | undefined {
  const { kind, sub: name, fpr: fingerprint } = claims;
  if (typeof name !== 'string' || typeof fingerprint !== 'string') return undefined;
  if (kind === 'user' || kind === 'client') return { kind, name, fingerprint };
  if (kind !== 'oidc') return undefined;
  const { idp: issuer, preferred, roles, groups } = claims;
  if (typeof issuer !== 'string' || !isTexts(roles) || !isTexts(groups)) return undefined;
  return { kind, name, fingerprint, issuer, ...(typeof preferred === 'string' && { preferred }), roles, groups };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** Bytes: what every browser keeps of a cookie (RFC 6265, section 6.1), less name and attributes. */
export const maxCookieSize = 3_900;
