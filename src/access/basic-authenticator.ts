import type { Clock } from '#base/clock.ts';
import type { AccessRules } from './access-rules.ts';
import type { Account } from './accounts.ts';
import type { Authentication } from './authentication.ts';
import type { CredentialCheck } from './credential-check.ts';
import { credentialsWrong } from './unauthenticated.ts';
import { createVerifiedCache } from './verified-cache.ts';

/**
 * Milliseconds without use after which credentials are verified again. Only a reload can make verified credentials wrong, and a
 * reload empties the cache: so this limit serves only to bound memory. Each use starts it again. Without that, failures of other
 * callers from the same address would throttle an active client.
 */
const idleLimit = 600_000;

interface VerifiedCredentials {
  readonly authentication: Authentication;
  /** Milliseconds of the monotonic clock. */
  usedAt: number;
}

/** Authenticates users by `Authorization: Basic`. */
export interface BasicAuthenticator {
  /** The caller of a header that is in the cache, else `undefined`. */
  cached(key: string): Authentication | undefined;
  /** Rejects with 401 for a wrong password and for an unknown user alike; with 400, 429 or 503 as the credential check does. */
  verify(credentials: BasicCredentials, key: string): Promise<Authentication>;
  /** The caller as it is now; undefined where its password has changed since, or it is gone. No password is computed. */
  again(authentication: Authentication): Authentication | undefined;
  clear(): void;
}

interface BasicCredentials {
  readonly name: string;
  readonly password: string;
  readonly sourceAddress: string;
  /** The id of the request, for the log. */
  readonly requestId?: string | undefined;
}

interface BasicAuthenticatorOptions {
  readonly rules: () => AccessRules;
  readonly check: CredentialCheck;
  readonly clock: Clock;
}

export function createBasicAuthenticator({ rules, check, clock }: BasicAuthenticatorOptions): BasicAuthenticator {
  const cache = createVerifiedCache<VerifiedCredentials>({ entries: 10_000 });
  return {
    cached(key) {
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
    async verify(credentials, key) {
      const startedWith = rules();
      const account = await check({ kind: 'user', ...credentials }, startedWith.accounts);
      if (account === undefined) throw credentialsWrong();
      const authentication = authenticationOf(account);
      if (startedWith === rules()) cache.set(key, { authentication, usedAt: clock.monotonic() });
      return authentication;
    },
    again(authentication) {
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
