import type { AccountKind } from './accounts.ts';

/** `error`: it could not be found out, or there were too many at once. */
export type CredentialCheckOutcome = 'ok' | 'wrong' | 'throttled' | 'error';

/** Counts how callers are known; everything in it must be cheap. */
export interface AccessWatcher {
  /** Whether an Authorization header or session cookie was verified a moment ago already. */
  cacheAsked(hit: boolean): void;
  /** A password or secret was checked, or refused unchecked. */
  credentialsChecked(kind: AccountKind, outcome: CredentialCheckOutcome): void;
}

export const noAccessWatcher: AccessWatcher = { cacheAsked() {}, credentialsChecked() {} };
