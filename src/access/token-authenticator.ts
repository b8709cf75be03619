import type { Clock } from '#base/clock.ts';
import { inTime } from '#base/in-time.ts';
import type { Log } from '#base/log.ts';
import type { AccessRules } from './access-rules.ts';
import type { Authentication, RequestOrigin } from './authentication.ts';
import { type GatewayTokens, gatewayIssuer } from './gateway-tokens.ts';
import type { KnownPersons } from './known-persons.ts';
import type { Principal } from './principal.ts';
import type { Revocations } from './revocations.ts';
import type { RefusedToken } from './token-fault.ts';
import { createTokenLog } from './token-log.ts';
import { judgeToken, type TokenVerdict } from './token-verdict.ts';
import { tokenInvalid } from './unauthenticated.ts';
import { createVerifiedCache } from './verified-cache.ts';

/**
 * Milliseconds after which the revocation of a cached token is checked again, in the background up to `trustedFor`. After
 * `trustedFor`, the caller waits for that check.
 */
const refreshAfter = 500;
const trustedFor = 1_000;

/** The longest time, in milliseconds, that a store without an answer delays a caller with a cached token. */
const recheckLimit = 500;

interface VerifiedToken extends TokenVerdict {
  checkedAt: number;
  recheck?: Promise<boolean>;
}

/** Authenticates by bearer token and session cookie: tokens of the gateway and of the configured issuers. */
export interface TokenAuthenticator {
  /**
   * The caller of a cached token, else `undefined`. Returns no promise if the last check of the token is less than a second old.
   */
  cached(key: string, origin: RequestOrigin): Authentication | Promise<Authentication> | undefined;
  /** Rejects with 401 if the token is not valid, or 503 if the gateway cannot decide that now. Logs why a token is refused. */
  verify(presented: PresentedToken): Promise<Authentication>;
  /** Removes the tokens with that id from the cache. */
  end(jti: string): void;
  clear(): void;
}

interface PresentedToken {
  readonly token: string;
  readonly key: string;
  readonly via: 'bearer' | 'session';
  readonly origin: RequestOrigin;
}

interface TokenAuthenticatorOptions {
  readonly rules: () => AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly log: Log;
  readonly persons: Pick<KnownPersons, 'note'>;
}

export function createTokenAuthenticator({
  rules,
  tokens,
  revocations,
  clock,
  log,
  persons,
}: TokenAuthenticatorOptions): TokenAuthenticator {
  const tokenLog = createTokenLog(log);
  const cache = createVerifiedCache<VerifiedToken>({ entries: 10_000 });

  /** Whether the token was revoked since. A store that is away ends no session. */
  const recheck = async (key: string, entry: VerifiedToken, jti: string): Promise<boolean> => {
    const askedAt = clock.monotonic();
    const revoked = await inTime(
      revocations.isRevoked(jti).catch(() => false),
      recheckLimit,
      () => false,
    );
    if (revoked) cache.delete(key);
    entry.checkedAt = askedAt;
    delete entry.recheck;
    return revoked;
  };

  return {
    cached(key, origin) {
      const entry = cache.get(key);
      if (entry === undefined) return undefined;
      if (clock.now() >= entry.expiresAt) {
        cache.delete(key);
        return undefined;
      }
      const age = clock.monotonic() - entry.checkedAt;
      if (age < refreshAfter) return entry.authentication;
      entry.recheck ??= recheck(key, entry, entry.jti);
      if (age < trustedFor) return entry.authentication;
      return entry.recheck.then((revoked) => {
        if (revoked) {
          tokenLog.refused(origin, { refused: 'revoked', ...nameOf(entry.authentication.principal) });
          throw tokenInvalid();
        }
        return entry.authentication;
      });
    },

    async verify({ token, key, via, origin }) {
      const startedWith = rules();
      const verdict = await judgeToken(token, via, { rules: startedWith, tokens, revocations, clock, persons });
      if ('refused' in verdict) {
        tokenLog.refused(origin, verdict);
        throw tokenInvalid();
      }
      // A reload meanwhile may have changed the basis of the verdict, so it is not cached.
      if (startedWith === rules()) cache.set(key, { ...verdict });
      tokenLog.accepted(origin, { ...verdict.authentication, areGroupsLeftOut: verdict.areGroupsLeftOut === true }, startedWith);
      return verdict.authentication;
    },

    end: (jti) => cache.deleteWhere((entry) => entry.jti === jti),
    clear: () => cache.clear(),
  };
}

/** What the log tells of a principal whose token was valid before. */
function nameOf({ username, issuer = gatewayIssuer, subject = username }: Principal): Omit<RefusedToken, 'refused'> {
  return { issuer, subject };
}
