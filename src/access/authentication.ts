import type { Principal } from './principal.ts';

/** Who calls, and how it was shown. */
export type Authentication = LocalAuthentication | IssuedAuthentication;

/** A user or client of the configuration. */
interface LocalAuthentication {
  readonly principal: Principal;
  readonly via: 'basic' | 'bearer' | 'session';
}

/** The bearer of a token of a configured issuer. */
interface IssuedAuthentication {
  readonly principal: Principal;
  readonly via: 'oidc';
  readonly issuer: string;
  /** Whom the issuer means by it, for good: the name of the principal may be another's too (OpenID Connect Core 5.7). */
  readonly subject: string;
}

/**
 * One text for each caller, whatever way it shows who it is. Users and clients share one name space in which no name has a colon; each
 * issuer has one of its own. The store has digests of it (Idempotency-Key), so it stays as it is.
 */
export function callerOf(authentication: Authentication): string {
  if (authentication.via !== 'oidc') return authentication.principal.username;
  return `oidc:${JSON.stringify([authentication.issuer, authentication.subject])}`;
}

/** What a request brings along. */
export interface PresentedCredentials {
  /** The `Authorization` header as it came. */
  readonly authorization?: string | undefined;
  /** The `Cookie` header as it came. */
  readonly cookie?: string | undefined;
  /** The caller's address, behind trusted proxies the one they name. */
  readonly sourceAddress: string;
  /** Of the request that brings them, for the log. */
  readonly requestId?: string | undefined;
}
