import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { AccessRules } from '../access-rules.ts';
import type { AccessWatcher, CredentialCheckOutcome } from '../access-watcher.ts';
import type { Account, AccountKind, Accounts } from '../accounts.ts';
import { type Authentication, credentialsWrong, type RequestOrigin } from '../authentication.ts';
import { createVerifiedCache } from '../tokens/verified-cache.ts';
import type { AdmittedAttempt, LoginThrottle } from './login-throttle.ts';
import type { PasswordVerifier } from './password-verifier.ts';

interface BasicCredentials extends RequestOrigin {
  readonly name: string;
  readonly password: string;
}

interface NamedCredentials extends BasicCredentials {
  readonly kind: AccountKind;
}

export type CredentialCheck = ReturnType<typeof createCredentialCheck>;

interface CredentialCheckNeeds {
  readonly throttle: LoginThrottle;
  readonly verifier: PasswordVerifier;
  readonly log: Log;
  readonly watcher: AccessWatcher;
}

export function createCredentialCheck({ throttle, verifier, log, watcher }: CredentialCheckNeeds) {
  const inProgress = new Map<string, Promise<Account | undefined>>();
  const secret = randomBytes(32);

  const judge = async (
    credentials: NamedCredentials,
    account: Account | undefined,
    accounts: Accounts,
  ): Promise<Account | undefined> => {
    const { kind, name, password, sourceAddress, requestId } = credentials;
    // First, since an attempt that has to wait must not take a place from one that need not.
    await throttle.refuse(credentials);
    const place = verifier.enter(password);
    try {
      const attempt = await throttle.admit(credentials);
      const isMatch = await verify(place.verify(account?.hash ?? accounts.decoy(kind, name)), attempt);
      if (isMatch && account !== undefined) {
        await updateThrottle(attempt.succeeded());
        return account;
      }
    } finally {
      place.leave();
    }
    // Only configured names are logged: another may be a password in the wrong field.
    const principal = accounts.configured(kind, name) && name;
    const isBlocked = account === undefined && principal !== undefined;
    log.warn('login failed', { sourceAddress, requestId, principal, reason: isBlocked ? 'blocked' : undefined });
    return undefined;
  };

  /** A failed computation says nothing about the password, so it is not counted. */
  const verify = async (matches: Promise<boolean>, attempt: AdmittedAttempt): Promise<boolean> => {
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

  /**
   * Undefined if the credentials match no account. An unknown name and a wrong password take the same steps. Rejects with 400 (too long),
   * 429 (throttled, or too many at once) or 503 (store away).
   */
  return async (credentials: NamedCredentials, accounts: Accounts): Promise<Account | undefined> => {
    const { kind, name, password, sourceAddress } = credentials;
    const account = accounts.find(kind, name);
    // Connections that send the same credentials at once share one check, so the throttle counts one attempt.
    const text = JSON.stringify([kind, name, password, sourceAddress]);
    const key = `${createHmac('sha256', secret).update(text).digest('base64url')} ${account?.fingerprint ?? ''}`;
    const running = inProgress.get(key);
    if (running !== undefined) return (await running) && account;
    const verdict = reportOutcome(judge(credentials, account, accounts), (outcome) =>
      watcher.credentialsChecked(kind, outcome),
    ).finally(() => inProgress.delete(key));
    inProgress.set(key, verdict);
    return await verdict;
  };
}

async function reportOutcome<T>(
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

/**
 * Milliseconds without use. Only a reload can make verified credentials wrong, and it empties the cache, so this serves only to bound
 * memory. Each use starts it again: otherwise failures of others from the same address would throttle an active client.
 */
const idleLimit = 600_000;

interface VerifiedCredentials {
  readonly authentication: Authentication;
  /** Milliseconds of the monotonic clock. */
  usedAt: number;
}

export type BasicAuthenticator = ReturnType<typeof createBasicAuthenticator>;

export function createBasicAuthenticator({
  rules,
  check,
  clock,
}: {
  readonly rules: () => AccessRules;
  readonly check: CredentialCheck;
  readonly clock: Clock;
}) {
  const cache = createVerifiedCache<VerifiedCredentials>({ entries: 10_000 });
  return {
    cached(key: string): Authentication | undefined {
      const entry = cache.get(key);
      if (entry === undefined) return undefined;
      const now = clock.monotonic();
      if (now - entry.usedAt >= idleLimit) {
        cache.delete(key);
        return undefined;
      }
      entry.usedAt = now;
      return entry.authentication;
    },
    /** Rejects with 401 for a wrong password and an unknown user alike; with 400, 429 or 503 as the check does. */
    async verify(credentials: BasicCredentials, key: string): Promise<Authentication> {
      const startedWith = rules();
      const account = await check({ kind: 'user', ...credentials }, startedWith.accounts);
      if (account === undefined) throw credentialsWrong();
      const authentication = authenticationOf(account);
      if (startedWith === rules()) cache.set(key, { authentication, usedAt: clock.monotonic() });
      return authentication;
    },
    /** Undefined if the password has changed since, or the user is gone. Computes no hash. */
    again(authentication: Authentication): Authentication | undefined {
      const account = rules().accounts.find('user', authentication.principal.id);
      if (account?.principal === authentication.principal) return authentication;
      return account?.fingerprint === authentication.fingerprint ? account && authenticationOf(account) : undefined;
    },
    clear: () => cache.clear(),
  };
}

function authenticationOf({ principal, fingerprint }: Account): Authentication {
  return Object.freeze({ principal, via: 'basic', fingerprint });
}
