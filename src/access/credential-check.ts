import { createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { AccessWatcher, CredentialCheckOutcome } from './access-watcher.ts';
import type { Account, AccountKind, Accounts } from './accounts.ts';
import type { AdmittedAttempt, LoginThrottle } from './login-throttle.ts';
import type { PasswordVerifier } from './password-verifier.ts';

/** A name with its password or secret, and where it came from. */
export interface NamedCredentials {
  readonly kind: AccountKind;
  readonly name: string;
  readonly password: string;
  readonly sourceAddress: string;
  /** Of the request that brings them, for the log. */
  readonly requestId?: string | undefined;
}

/**
 * The account that the credentials fit, `undefined` where they fit none: an unknown name and a wrong password take the same way.
 * Rejects with 400 (too long), 429 (throttled, too many at once) or 503 (store).
 */
export type CredentialCheck = (credentials: NamedCredentials, accounts: Accounts) => Promise<Account | undefined>;

interface CredentialCheckOptions {
  readonly throttle: LoginThrottle;
  readonly verifier: PasswordVerifier;
  readonly log: Log;
  readonly watcher: AccessWatcher;
}

export function createCredentialCheck({ throttle, verifier, log, watcher }: CredentialCheckOptions): CredentialCheck {
  const underWay = new Map<string, Promise<Account | undefined>>();
  const secret = randomBytes(32);

  // A client that opens many connections at once sends the same credentials on each: that is one attempt, not many.
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
    // First of all: whoever has to wait takes no place from those who need not.
    await throttle.refuse(credentials);
    const place = verifier.enter(password);
    try {
      const attempt = await throttle.admit(credentials);
      const matches = await verified(place.verify(account?.hash ?? accounts.decoy(kind, name)), attempt);
      if (matches && account !== undefined) {
        await settle(attempt.succeeded());
        return account;
      }
    } finally {
      place.leave();
    }
    // Only configured names are logged: the others may be anything, a password too.
    const origin = { sourceAddress, ...(requestId === undefined ? {} : { requestId }) };
    log.warn('login failed', account === undefined ? origin : { ...origin, principal: name });
    return undefined;
  };

  /** A hash that could not be computed says nothing about the password. */
  const verified = async (matches: Promise<boolean>, attempt: AdmittedAttempt): Promise<boolean> => {
    try {
      return await matches;
    } catch (error) {
      await settle(attempt.abandoned());
      throw error;
    }
  };

  /** A store that fails now does not undo what was decided; the failure stays counted. */
  const settle = async (bookkeeping: ReturnType<AdmittedAttempt['succeeded']>): Promise<void> => {
    try {
      await bookkeeping;
    } catch {
      log.warn('a login could not be taken off the throttle');
    }
  };

  return async (credentials, accounts) => {
    const account = accounts.find(credentials.kind, credentials.name);
    const key = `${keyOf(credentials)} ${account?.fingerprint ?? ''}`;
    const running = underWay.get(key);
    if (running !== undefined) return (await running) && account;
    const verdict = told(judge(credentials, account, accounts), (outcome) =>
      watcher.credentialsChecked(credentials.kind, outcome),
    ).finally(() => underWay.delete(key));
    underWay.set(key, verdict);
    return await verdict;
  };
}

async function told<T>(verdict: Promise<T | undefined>, tell: (outcome: CredentialCheckOutcome) => void): Promise<T | undefined> {
  try {
    const account = await verdict;
    tell(account === undefined ? 'wrong' : 'ok');
    return account;
  } catch (error) {
    tell(error instanceof GatewayError && error.code === 'login-throttled' ? 'throttled' : 'error');
    throw error;
  }
}
