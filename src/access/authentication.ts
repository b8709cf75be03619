import type { Principal } from './principal.ts';

/** Who calls, and how it was shown. */
export interface Authentication {
  readonly principal: Principal;
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
