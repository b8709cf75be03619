import type { AccountKind } from './accounts.ts';

/** `error`: the check was not possible (no store), or too many checks were in progress. */
export type CredentialCheckOutcome = 'ok' | 'wrong' | 'throttled' | 'error';

/** Its methods run on each call, so they must be cheap. */
export interface AccessWatcher {
  /** `hit`: the header or cookie was in the cache of verified credentials. */
  cacheAsked(hit: boolean): void;
  /** Checked, or refused without a check. `issuer`: a login by an issuer. */
  credentialsChecked(kind: AccountKind | 'issuer', outcome: CredentialCheckOutcome): void;
}

export const noAccessWatcher: AccessWatcher = { cacheAsked() {}, credentialsChecked() {} };
