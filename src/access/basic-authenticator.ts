import type { Clock } from '#base/clock.ts';
import type { AccessRules } from './access-rules.ts';
import type { Authentication } from './authentication.ts';
import type { CredentialCheck } from './credential-check.ts';
import { credentialsWrong } from './unauthenticated.ts';
import { createVerifiedCache } from './verified-cache.ts';

/**
 * Milliseconds without use after which credentials are verified anew. Nothing but a reload (which empties the cache) can make them
 * wrong, so the time bounds the memory; it slides, so that somebody else's failures do not throttle a client that is at work.
 */
const idleLimit = 600_000;

interface VerifiedCredentials {
  readonly authentication: Authentication;
  /** By the monotonic clock. */
  usedAt: number;
}

/** Users by `Authorization: Basic`. */
export interface BasicAuthenticator {
  /** The caller of a header that was verified before, else `undefined`. */
  cached(key: string): Authentication | undefined;
  /** Rejects with 401 for a wrong password and an unknown user alike, 400, 429 or 503 as the credential check does. */
  verify(credentials: BasicCredentials, key: string): Promise<Authentication>;
  clear(): void;
}

interface BasicCredentials {
  readonly name: string;
  readonly password: string;
  readonly sourceAddress: string;
  /** Of the request that brings them, for the log. */
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
      const judgedBy = rules();
      const account = await check({ kind: 'user', ...credentials }, judgedBy.accounts);
      if (account === undefined) throw credentialsWrong();
      const authentication = Object.freeze({ principal: account.principal, via: 'basic' } as const);
      if (judgedBy === rules()) cache.set(key, { authentication, usedAt: clock.monotonic() });
      return authentication;
    },
    clear: () => cache.clear(),
  };
}
