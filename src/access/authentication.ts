import type { Principal } from './principal.ts';

/** The principal of a request, and the kind of credentials that proved it. */
export interface Authentication {
  readonly principal: Principal;
  /** `bearer` and `session`: a token of the gateway, in the `Authorization` header or the cookie. `oidc`: a token of an issuer. */
  readonly via: 'basic' | 'bearer' | 'session' | 'oidc';
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
