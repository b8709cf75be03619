import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { AccessRules } from './access-rules.ts';
import type { Authentication } from './authentication.ts';
import { type AccountHolder, type GatewayTokens, gatewayIssuer, type IssuerHolder } from './gateway-tokens.ts';
import { type VerifiedClaims, verifiedClaims } from './issuer-claims.ts';
import type { KnownPersons } from './known-persons.ts';
import { areNamesLeftOut } from './oidc-claims.ts';
import type { Principal } from './principal.ts';
import type { Revocations } from './revocations.ts';
import type { RefusedToken } from './token-fault.ts';

/** Longer tokens are refused without parsing (docs/security.md, row 87). */
export const tokenLengthAtMost = 8_192;

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
  /** The issuer left the groups out of its token. */
  readonly areGroupsLeftOut?: boolean;
}

interface JudgeOptions {
  readonly rules: AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly persons: Pick<KnownPersons, 'note'>;
}

/** A fault if the token is not valid. Rejects with 503 if the gateway cannot decide that now. */
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

/** The id under which a token is revoked, and until when the revocation has to be kept (milliseconds since the epoch). */
interface RevocableToken {
  readonly jti: string;
  readonly expiresAt: number;
}

/** As `judgeToken`, but does not read the revocations: a revoked token counts as valid. */
export async function revocableToken(
  token: string,
  via: 'bearer' | 'session',
  options: Omit<JudgeOptions, 'revocations' | 'persons'>,
): Promise<RevocableToken | undefined> {
  const issuer = issuerOf(token);
  if (typeof issuer !== 'string') return undefined;
  const isOwn = issuer === gatewayIssuer;
  const verified = isOwn ? await options.tokens.verify(token) : await verifyForeign(token, via, issuer, options);
  if ('refused' in verified) return undefined;
  return 'jti' in verified ? verified : { jti: foreignId(token), expiresAt: verified.expiresAt };
}

/**
 * The issuer that a token claims, to choose who verifies it. No part of the token is trusted yet, and no key in it is ever used.
 */
function issuerOf(token: string): string | RefusedToken {
  if (token.length > tokenLengthAtMost) return { refused: 'too long' };
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

/** The person of a session that an issuer's login began, by the rules of now: a role that they no longer have is dropped. */
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

/**
 * Access tokens and ID tokens. Logout tokens and proof tokens, signed with the same keys, are not accepted (RFC 8725 section
 * 3.11).
 */
const acceptableTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

interface VerifiedPerson extends VerifiedClaims {
  readonly principal: Principal;
}

async function verifyForeign(
  token: string,
  via: 'bearer' | 'session',
  issuer: string,
  { rules, clock }: Pick<JudgeOptions, 'rules' | 'clock'>,
): Promise<VerifiedPerson | RefusedToken> {
  // A session cookie holds only tokens that /login issued.
  if (via === 'session') return { refused: 'no token of /login' };
  const trusted = rules.issuers.get(issuer);
  if (trusted === undefined) return { refused: 'unknown issuer' };
  const { audience } = trusted.issuer;
  const verified = await verifiedClaims(token, { ...trusted, clock, audience, required: ['exp', 'sub'], types: acceptableTypes });
  if ('refused' in verified) return verified;
  const principal = usable(rules.principalOf(verified.claims, trusted.issuer), rules);
  return 'refused' in principal ? principal : { principal, ...verified };
}

/**
 * A digest of the signed part only, because one signed part may have several valid signatures. Ids of the gateway's own tokens
 * contain no colon, so the two kinds of ids never collide.
 */
function foreignId(token: string): string {
  return `oidc:${hash('sha256', token.slice(0, token.lastIndexOf('.')), 'base64url')}`;
}
