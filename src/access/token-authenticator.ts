import type { Clock } from '#base/clock.ts';
import { inTime } from '#base/in-time.ts';
import type { AccessRules } from './access-rules.ts';
import type { Authentication } from './authentication.ts';
import type { GatewayTokens } from './gateway-tokens.ts';
import type { Revocations } from './revocations.ts';
import { judgeToken, type TokenVerdict } from './token-verdict.ts';
import { tokenInvalid } from './unauthenticated.ts';
import { createVerifiedCache } from './verified-cache.ts';

/** A cached token's revocation is asked for in the background from this age on, and waited for from the second. */
const refreshAfter = 500;
const trustedFor = 1_000;

/** A store that hangs may hold a caller whose token is cached this long. */
const recheckLimit = 500;

interface VerifiedToken extends TokenVerdict {
  checkedAt: number;
  recheck?: Promise<boolean>;
}

/** Bearer tokens and session cookies: ours, and those of the configured issuers. */
export interface TokenAuthenticator {
  /** The caller of a token seen before; at once while its last check is under a second old. `undefined` where it is not cached. */
  cached(key: string): Authentication | Promise<Authentication> | undefined;
  /** Rejects with 401 for a token that does not hold, 503 where that cannot be found out. */
  verify(token: string, key: string, via: 'bearer' | 'session'): Promise<Authentication>;
  /** Forgets the tokens of that id. */
  end(jti: string): void;
  clear(): void;
}

interface TokenAuthenticatorOptions {
  readonly rules: () => AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export function createTokenAuthenticator({ rules, tokens, revocations, clock }: TokenAuthenticatorOptions): TokenAuthenticator {
  const cache = createVerifiedCache<VerifiedToken>({ entries: 10_000 });

  /** Whether the token was ended meanwhile. A store that is away ends nobody's session. */
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
    cached(key) {
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
        if (revoked) throw tokenInvalid();
        return entry.authentication;
      });
    },

    async verify(token, key, via) {
      const judgedBy = rules();
      const verdict = await judgeToken(token, via, { rules: judgedBy, tokens, revocations, clock });
      if (verdict === undefined) throw tokenInvalid();
      // A reload in between may have changed what the verdict rests on: do not keep it.
      if (judgedBy === rules()) cache.set(key, { ...verdict });
      return verdict.authentication;
    },

    end: (jti) => cache.deleteWhere((entry) => entry.jti === jti),
    clear: () => cache.clear(),
  };
}
