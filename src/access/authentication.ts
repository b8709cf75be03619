import type { Principal } from './principal.ts';

/** The principal of a request, and the kind of credentials that proved it. */
export interface Authentication {
  readonly principal: Principal;
  /** `bearer` and `session`: a token of the gateway, in the `Authorization` header or the cookie. `oidc`: a token of an issuer. */
  readonly via: 'basic' | 'bearer' | 'session' | 'oidc';
  /** Of `basic`: `Account.fingerprint` when the password was verified. */
  readonly fingerprint?: string;
}

/** Where a request came from. */
export interface RequestOrigin {
  /** The address of the caller. Behind trusted proxies, the address that they report. */
  readonly sourceAddress: string;
  /** The id of the request, for the log. */
  readonly requestId?: string | undefined;
}

/** The credentials of a request, and where it came from. */
export interface PresentedCredentials extends RequestOrigin {
  /** The `Authorization` header as received. */
  readonly authorization?: string | undefined;
  /** The `Cookie` header as received. */
  readonly cookie?: string | undefined;
  /** True if the request names the gateway by one of its own names: no session cookie is good for another host. */
  readonly isOwnHost?: () => boolean;
}
