import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { AccessRules } from './access-rules.ts';
import type { Authentication } from './authentication.ts';
import { type GatewayTokens, gatewayIssuer } from './gateway-tokens.ts';
import { type OidcToken, verifyOidcToken } from './oidc-tokens.ts';
import type { Revocations } from './revocations.ts';

/** Longer tokens are refused without parsing (docs/security.md, row 87). */
const tokenLengthAtMost = 8_192;

/**
 * Milliseconds for which a verdict on a token of an issuer is cached. A key that the issuer withdraws is trusted this long at
 * most.
 */
const oidcTrustedFor = 300_000;

/** The caller of a valid token, and how long that is true. */
export interface TokenVerdict {
  readonly authentication: Authentication;
  /** Milliseconds since the epoch until which the verdict may be cached. */
  readonly expiresAt: number;
  /** The id under which the token is revoked. */
  readonly jti: string;
  /** Milliseconds of the monotonic clock when the revocations were read. */
  readonly checkedAt: number;
}

interface JudgeOptions {
  readonly rules: AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

/** `undefined` if the token is not valid. Rejects with 503 if the gateway cannot decide that now. */
export async function judgeToken(
  token: string,
  via: 'bearer' | 'session',
  options: JudgeOptions,
): Promise<TokenVerdict | undefined> {
  const issuer = issuerOf(token);
  if (issuer === undefined) return undefined;
  if (issuer === gatewayIssuer) return await judgeOwn(token, via, options);
  // A session cookie holds only tokens that /login issued.
  return via === 'session' ? undefined : await judgeForeign(token, issuer, options);
}

/** The id under which a token is revoked, and until when the revocation has to be kept (milliseconds since the epoch). */
interface RevocableToken {
  readonly jti: string;
  readonly expiresAt: number;
}

/** As `judgeToken`, but does not read the revocations: a revoked token counts as valid. */
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

/**
 * The issuer that a token claims, to choose who verifies it. No part of the token is trusted yet, and no key in it is ever used.
 */
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
  // The configuration no longer has the account, or its password changed.
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

/**
 * A digest of the signed part only, because one signed part may have several valid signatures. Ids of the gateway's own tokens
 * contain no colon, so the two kinds of ids never collide.
 */
function foreignId(token: string): string {
  return `oidc:${hash('sha256', token.slice(0, token.lastIndexOf('.')), 'base64url')}`;
}
