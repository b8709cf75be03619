import { randomBytes } from 'node:crypto';
import { decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { AccountKind } from './accounts.ts';
import { type SigningKeys, signingAlgorithm } from './signing-keys.ts';
import { type RefusedToken, tokenFault } from './token-fault.ts';

/**
 * `iss` and `aud` of the gateway's own tokens. A token of another issuer fails here, and a token of the gateway fails elsewhere
 * (RFC 8725 sections 3.8 and 3.9).
 */
export const gatewayIssuer = 'orchestration-gateway';

/** With this `typ`, no other kind of JWT passes for an access token (RFC 9068). */
const tokenType = 'at+jwt';

/** A user or client. Its roles and groups are not in the token: the configuration at the time of the call decides. */
export interface AccountHolder {
  readonly kind: AccountKind;
  readonly name: string;
  /** `Account.fingerprint` when the token was issued. */
  readonly fingerprint: string;
}

/** A person who logged in by an issuer, with what the ID token said. */
export interface IssuerHolder {
  readonly kind: 'oidc';
  /** The subject. */
  readonly name: string;
  /** `TrustedIssuer.fingerprint` when the token was issued. */
  readonly fingerprint: string;
  readonly issuer: string;
  /** `preferred_username`, if the ID token had one. */
  readonly preferred?: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}

export type TokenHolder = AccountHolder | IssuerHolder;

/** The claims of a token of the gateway. */
export interface GatewayToken {
  readonly holder: TokenHolder;
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
  issue(holder: TokenHolder, lifetime: number): Promise<IssuedToken>;
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
    async issue(holder, lifetime) {
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

function claimsOf(holder: TokenHolder): JWTPayload {
  const { kind, fingerprint: fpr } = holder;
  if (holder.kind !== 'oidc') return { kind, fpr };
  const { issuer: idp, preferred, roles, groups } = holder;
  return { kind, fpr, idp, ...(preferred === undefined ? {} : { preferred }), roles, groups };
}

function toGatewayToken(claims: Readonly<Record<string, unknown>>): GatewayToken | RefusedToken {
  const { jti, exp } = claims;
  const holder = holderOf(claims);
  if (holder === undefined || typeof jti !== 'string' || typeof exp !== 'number') return malformed;
  return { holder, jti, expiresAt: exp * 1000 };
}

function holderOf(claims: Readonly<Record<string, unknown>>): TokenHolder | undefined {
  const { kind, sub: name, fpr: fingerprint } = claims;
  if (typeof name !== 'string' || typeof fingerprint !== 'string') return undefined;
  if (kind === 'user' || kind === 'client') return { kind, name, fingerprint };
  if (kind !== 'oidc') return undefined;
  const { idp: issuer, preferred, roles, groups } = claims;
  if (typeof issuer !== 'string' || !isTexts(roles) || !isTexts(groups)) return undefined;
  return { kind, name, fingerprint, issuer, ...(typeof preferred === 'string' ? { preferred } : {}), roles, groups };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** Bytes that name, value and attributes of a cookie may have together, in every browser (RFC 6265, section 6.1), less those of the others. */
const longestInCookie = 3_900;

/** Whether the browser keeps the token as a session. */
export function tokenFits(token: string): boolean {
  return token.length <= longestInCookie;
}
