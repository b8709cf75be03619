import type { AccountKind } from './accounts.ts';

/** `error`: the check was not possible (no store), or too many checks were in progress. */
export type CredentialCheckOutcome = 'ok' | 'wrong' | 'throttled' | 'error';

/** Counts cache hits and credential checks. Its methods run on each call, so they must be cheap. */
export interface AccessWatcher {
  /** `hit`: the Authorization header or session cookie was in the cache of verified credentials. */
  cacheAsked(hit: boolean): void;
  /** A password, a secret or the login by an issuer (`issuer`) was checked, or refused without a check. */
  credentialsChecked(kind: AccountKind | 'issuer', outcome: CredentialCheckOutcome): void;
}

export const noAccessWatcher: AccessWatcher = { cacheAsked() {}, credentialsChecked() {} };
