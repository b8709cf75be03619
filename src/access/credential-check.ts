import { createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { AccessWatcher, CredentialCheckOutcome } from './access-watcher.ts';
import type { Account, AccountKind, Accounts } from './accounts.ts';
import type { AdmittedAttempt, LoginThrottle } from './login-throttle.ts';
import type { PasswordVerifier } from './password-verifier.ts';

/** A name with its password or secret, and the address that sent them. */
export interface NamedCredentials {
  readonly kind: AccountKind;
  readonly name: string;
  readonly password: string;
  readonly sourceAddress: string;
  /** The id of the request, for the log. */
  readonly requestId?: string | undefined;
}

/**
 * Resolves with the account that the credentials match, or `undefined` if they match none. An unknown name and a wrong password
 * take the same steps. Rejects with 400 (too long), 429 (throttled, or too many at once) or 503 (store away).
 */
export type CredentialCheck = (credentials: NamedCredentials, accounts: Accounts) => Promise<Account | undefined>;

interface CredentialCheckOptions {
  readonly throttle: LoginThrottle;
  readonly verifier: PasswordVerifier;
  readonly log: Log;
  readonly watcher: AccessWatcher;
}

export function createCredentialCheck({ throttle, verifier, log, watcher }: CredentialCheckOptions): CredentialCheck {
  const inProgress = new Map<string, Promise<Account | undefined>>();
  const secret = randomBytes(32);

  // A client that opens many connections at once sends the same credentials on each. The checks in progress are shared, so the
  // throttle counts one attempt.
  const keyOf = ({ kind, name, password, sourceAddress }: NamedCredentials): string =>
    createHmac('sha256', secret)
      .update(JSON.stringify([kind, name, password, sourceAddress]))
      .digest('base64url');

  const judge = async (
    credentials: NamedCredentials,
    account: Account | undefined,
    accounts: Accounts,
  ): Promise<Account | undefined> => {
    const { kind, name, password, sourceAddress, requestId } = credentials;
    // The throttle comes before the place: an attempt that has to wait must not take a place from one that need not.
    await throttle.refuse(credentials);
    const place = verifier.enter(password);
    try {
      const attempt = await throttle.admit(credentials);
      const matches = await verified(place.verify(account?.hash ?? accounts.decoy(kind, name)), attempt);
      if (matches && account !== undefined) {
        await updateThrottle(attempt.succeeded());
        return account;
      }
    } finally {
      place.leave();
    }
    // Only configured names are logged: another name may be a password that somebody typed into the wrong field.
    const origin = { sourceAddress, ...(requestId === undefined ? {} : { requestId }) };
    const named = accounts.configured(kind, name) === undefined ? {} : { principal: name };
    const isBlocked = account === undefined && 'principal' in named;
    log.warn('login failed', { ...origin, ...named, ...(isBlocked && { reason: 'blocked' }) });
    return undefined;
  };

  /** A hash that failed to compute says nothing about the password, so its attempt is not counted. */
  const verified = async (matches: Promise<boolean>, attempt: AdmittedAttempt): Promise<boolean> => {
    try {
      return await matches;
    } catch (error) {
      await updateThrottle(attempt.abandoned());
      throw error;
    }
  };

  /** If the store fails now, the verdict remains, and the attempt remains counted as failed. */
  const updateThrottle = async (update: Promise<void>): Promise<void> => {
    try {
      await update;
    } catch {
      log.warn('a login attempt that did not fail remains counted as failed: the store is away');
    }
  };

  return async (credentials, accounts) => {
    const account = accounts.find(credentials.kind, credentials.name);
    const key = `${keyOf(credentials)} ${account?.fingerprint ?? ''}`;
    const running = inProgress.get(key);
    if (running !== undefined) return (await running) && account;
    const verdict = watched(judge(credentials, account, accounts), (outcome) =>
      watcher.credentialsChecked(credentials.kind, outcome),
    ).finally(() => inProgress.delete(key));
    inProgress.set(key, verdict);
    return await verdict;
  };
}

async function watched<T>(
  verdict: Promise<T | undefined>,
  report: (outcome: CredentialCheckOutcome) => void,
): Promise<T | undefined> {
  try {
    const account = await verdict;
    report(account === undefined ? 'wrong' : 'ok');
    return account;
  } catch (error) {
    report(error instanceof GatewayError && error.code === 'login-throttled' ? 'throttled' : 'error');
    throw error;
  }
}
