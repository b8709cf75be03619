import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { AccessRules } from '../access-rules.ts';
import type { Authentication } from '../authentication.ts';
import type { KnownPersons } from '../issuers/known-persons.ts';
import { areNamesLeftOut } from '../issuers/oidc-claims.ts';
import { type VerifiedClaims, verifyClaims } from '../issuers/oidc-discovery.ts';
import type { Principal } from '../principal.ts';
import { type AccountHolder, type GatewayTokens, gatewayIssuer, type IssuerHolder } from './gateway-tokens.ts';
import type { Revocations } from './revocations.ts';
import type { RefusedToken } from './token-fault.ts';

/** Longer tokens are refused without parsing (docs/security.md, row 87). */
export const maxTokenLength = 8_192;

/** Milliseconds. A key that the issuer withdraws is trusted this long at most. */
const oidcTrustedFor = 300_000;

export interface TokenVerdict {
  readonly authentication: Authentication;
  /** Milliseconds since the epoch: cached until then. */
  readonly expiresAt: number;
  /** The id for a revocation. */
  readonly jti: string;
  /** When the revocations were read, in milliseconds of the monotonic clock. */
  readonly checkedAt: number;
  readonly areGroupsLeftOut?: boolean;
}

interface JudgeOptions {
  readonly rules: AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly persons: Pick<KnownPersons, 'note'>;
}

/** Rejects with 503 if the gateway cannot decide now. */
export async function judgeToken(
  token: string,
  via: 'bearer' | 'session',
  options: JudgeOptions,
): Promise<TokenVerdict | RefusedToken> {
  const issuer = issuerOf(token);
  if (typeof issuer !== 'string') return issuer;
  const verdict =
    issuer === gatewayIssuer ? await judgeOwn(token, via, options) : await judgeForeign(token, via, issuer, options);
  return 'refused' in verdict ? { ...verdict, issuer } : verdict;
}

/** Reads no revocations: a revoked token counts as valid. `expiresAt`: until then the revocation has to be kept. */
export async function revocableToken(
  token: string,
  via: 'bearer' | 'session',
  options: Omit<JudgeOptions, 'revocations' | 'persons'>,
): Promise<Pick<TokenVerdict, 'jti' | 'expiresAt'> | undefined> {
  const issuer = issuerOf(token);
  if (typeof issuer !== 'string') return undefined;
  const isOwn = issuer === gatewayIssuer;
  const verified = isOwn ? await options.tokens.verify(token) : await verifyForeign(token, via, issuer, options);
  if ('refused' in verified) return undefined;
  return 'jti' in verified ? verified : { jti: foreignId(token), expiresAt: verified.expiresAt };
}

/** Chooses who verifies. No part of the token is trusted yet, and no key in it is ever used. */
function issuerOf(token: string): string | RefusedToken {
  if (token.length > maxTokenLength) return { refused: 'too long' };
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : { refused: 'missing claim' };
  } catch {
    return { refused: 'malformed' };
  }
}

async function judgeOwn(
  token: string,
  via: 'bearer' | 'session',
  { rules, tokens, revocations, clock }: JudgeOptions,
): Promise<TokenVerdict | RefusedToken> {
  const claims = await tokens.verify(token);
  if ('refused' in claims) return claims;
  const { holder, jti, expiresAt } = claims;
  const principal = holder.kind === 'oidc' ? personOf(holder, rules) : accountOf(holder, rules);
  if ('refused' in principal) return principal;
  const checkedAt = clock.monotonic();
  if (await revocations.isRevoked(jti)) return { refused: 'revoked', subject: holder.name };
  const authentication = Object.freeze({ principal, via });
  return { authentication, expiresAt, jti, checkedAt };
}

function accountOf({ kind, name: subject, fingerprint }: AccountHolder, rules: AccessRules): Principal | RefusedToken {
  const account = rules.accounts.configured(kind, subject);
  if (account === undefined) return { refused: 'account not configured', subject };
  if (rules.isBlocked(account.principal.id)) return { refused: 'blocked', subject };
  return account.fingerprint === fingerprint ? account.principal : { refused: 'password changed', subject };
}

/** By the rules in force: a role that the person no longer has is dropped. */
function personOf(holder: IssuerHolder, rules: AccessRules): Principal | RefusedToken {
  const { issuer, name: subject, preferred, roles, groups } = holder;
  const trusted = rules.issuers.get(issuer);
  if (trusted === undefined || trusted.fingerprint !== holder.fingerprint) return { refused: 'issuer changed', subject };
  const claims = { sub: subject, preferred_username: preferred, roles, groups };
  return usable(rules.principalOf(claims, { ...trusted.issuer, rolesClaim: 'roles', groupsClaim: 'groups' }), rules);
}

function usable(principal: Principal | undefined, { isBlocked }: AccessRules): Principal | RefusedToken {
  if (principal === undefined) return { refused: 'unusable name' };
  return isBlocked(principal.id) ? { refused: 'blocked', subject: principal.subject ?? '' } : principal;
}

async function judgeForeign(
  token: string,
  via: 'bearer' | 'session',
  issuer: string,
  options: JudgeOptions,
): Promise<TokenVerdict | RefusedToken> {
  const { revocations, clock, persons, rules } = options;
  const verified = await verifyForeign(token, via, issuer, options);
  if ('refused' in verified) return verified;
  const { principal, claims, expiresAt } = verified;
  const jti = foreignId(token);
  const checkedAt = clock.monotonic();
  if (await revocations.isRevoked(jti)) return { refused: 'revoked', subject: principal.subject ?? '' };
  const trusted = rules.issuers.get(issuer);
  if (trusted !== undefined) await persons.note(trusted.issuer, principal, claims);
  const authentication = Object.freeze({ principal, via: 'oidc' } as const);
  const areGroupsLeftOut = trusted !== undefined && areNamesLeftOut(claims, trusted.issuer);
  const until = Math.min(expiresAt, clock.now() + oidcTrustedFor);
  return { authentication, expiresAt: until, jti, checkedAt, areGroupsLeftOut };
}

/** Access and ID tokens. Logout and proof tokens, of the same keys, are not accepted (RFC 8725 section 3.11). */
const acceptableTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

async function verifyForeign(
  token: string,
  via: 'bearer' | 'session',
  issuer: string,
  { rules, clock }: Pick<JudgeOptions, 'rules' | 'clock'>,
): Promise<(VerifiedClaims & { readonly principal: Principal }) | RefusedToken> {
  // A session cookie holds only tokens of /login.
  if (via === 'session') return { refused: 'no token of /login' };
  const trusted = rules.issuers.get(issuer);
  if (trusted === undefined) return { refused: 'unknown issuer' };
  const { audience } = trusted.issuer;
  const verified = await verifyClaims(token, { ...trusted, clock, audience, required: ['exp', 'sub'], types: acceptableTypes });
  if ('refused' in verified) return verified;
  const principal = usable(rules.principalOf(verified.claims, trusted.issuer), rules);
  return 'refused' in principal ? principal : { principal, ...verified };
}

/**
 * Of the signed part only: it may have several valid signatures. Ids of the gateway's own tokens contain no colon, so these never
 * collide.
 */
function foreignId(token: string): string {
  return `oidc:${hash('sha256', token.slice(0, token.lastIndexOf('.')), 'base64url')}`;
}
