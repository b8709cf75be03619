import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { AccessRules } from './access-rules.ts';
import type { Authentication } from './authentication.ts';
import { type GatewayTokens, gatewayIssuer } from './gateway-tokens.ts';
import { type OidcToken, verifyOidcToken } from './oidc-tokens.ts';
import type { Revocations } from './revocations.ts';

/** Longer tokens are refused unread (hardening row 87). */
const tokenLengthAtMost = 8_192;

/** Keys that an issuer withdraws take effect within this time, in milliseconds. */
const oidcTrustedFor = 300_000;

/** What a token that holds gives its bearer. */
export interface TokenVerdict {
  readonly authentication: Authentication;
  /** Milliseconds since the epoch: until then the verdict may be kept. */
  readonly expiresAt: number;
  /** What the token is revoked by. */
  readonly jti: string;
  /** When the revocations were asked, by the monotonic clock. */
  readonly checkedAt: number;
}

interface JudgeOptions {
  readonly rules: AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

/** `undefined` for a token that does not hold. Rejects with 503 where that cannot be found out. */
export async function judgeToken(
  token: string,
  via: 'bearer' | 'session',
  options: JudgeOptions,
): Promise<TokenVerdict | undefined> {
  const issuer = issuerOf(token);
  if (issuer === undefined) return undefined;
  if (issuer === gatewayIssuer) return await judgeOwn(token, via, options);
  // The session cookie holds only what /login put there.
  return via === 'session' ? undefined : await judgeForeign(token, issuer, options);
}

/** What a token is revoked by, and until when that must be remembered (milliseconds since the epoch). */
interface RevocableToken {
  readonly jti: string;
  readonly expiresAt: number;
}

/** `undefined` for a token that does not hold, revoked ones aside. Rejects with 503 where that cannot be found out. */
export async function revocableToken(
  token: string,
  via: 'bearer' | 'session',
  options: Omit<JudgeOptions, 'revocations'>,
): Promise<RevocableToken | undefined> {
  const issuer = issuerOf(token);
  if (issuer === undefined) return undefined;
  if (issuer === gatewayIssuer) return await options.tokens.verify(token);
  const verified = via === 'session' ? undefined : await verifyForeign(token, issuer, options);
  return verified === undefined ? undefined : { jti: foreignId(token), expiresAt: verified.expiresAt };
}

/** The issuer a token claims, to find out who may judge it. Nothing is trusted yet, and no key is taken from the token. */
function issuerOf(token: string): string | undefined {
  if (token.length > tokenLengthAtMost) return undefined;
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

async function judgeOwn(
  token: string,
  via: 'bearer' | 'session',
  { rules, tokens, revocations, clock }: JudgeOptions,
): Promise<TokenVerdict | undefined> {
  const claims = await tokens.verify(token);
  if (claims === undefined) return undefined;
  const account = rules.accounts.find(claims.kind, claims.name);
  // Removed since, or its password was changed.
  if (account === undefined || account.fingerprint !== claims.fingerprint) return undefined;
  const checkedAt = clock.monotonic();
  if (await revocations.isRevoked(claims.jti)) return undefined;
  const authentication = Object.freeze({ principal: account.principal, via });
  return { authentication, expiresAt: claims.expiresAt, jti: claims.jti, checkedAt };
}

async function judgeForeign(token: string, issuer: string, options: JudgeOptions): Promise<TokenVerdict | undefined> {
  const { revocations, clock } = options;
  const verified = await verifyForeign(token, issuer, options);
  if (verified === undefined) return undefined;
  const jti = foreignId(token);
  const checkedAt = clock.monotonic();
  if (await revocations.isRevoked(jti)) return undefined;
  const authentication = Object.freeze({ principal: verified.principal, via: 'oidc' } as const);
  return { authentication, expiresAt: Math.min(verified.expiresAt, clock.now() + oidcTrustedFor), jti, checkedAt };
}

async function verifyForeign(
  token: string,
  issuer: string,
  { rules, clock }: Pick<JudgeOptions, 'rules' | 'clock'>,
): Promise<OidcToken | undefined> {
  const trusted = rules.issuers.get(issuer);
  return trusted && (await verifyOidcToken(token, { ...trusted, clock }));
}

/** Of the signed part alone, for a token may have several signatures that hold. Its colon keeps it apart from the ids of our own tokens. */
function foreignId(token: string): string {
  return `oidc:${hash('sha256', token.slice(0, token.lastIndexOf('.')), 'base64url')}`;
}
