import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { inTime } from '#base/timing/in-time.ts';
import type { AccessRules } from '../access-rules.ts';
import { type Authentication, type RequestOrigin, tokenInvalid } from '../authentication.ts';
import type { KnownPersons } from '../issuers/known-persons.ts';
import type { Principal } from '../principal.ts';
import { type GatewayTokens, gatewayIssuer } from './gateway-tokens.ts';
import type { Revocations } from './revocations.ts';
import type { RefusedToken } from './token-fault.ts';
import { judgeToken, type TokenVerdict } from './token-verdict.ts';
import { createVerifiedCache } from './verified-cache.ts';

/** Milliseconds after which a revocation is checked again, in the background up to `trustedFor`; then the caller waits. */
const refreshAfter = 500;
const trustedFor = 1_000;

/** Milliseconds for which a store without an answer delays a caller. */
const recheckLimit = 500;

interface VerifiedToken extends TokenVerdict {
  checkedAt: number;
  recheck?: Promise<boolean>;
}

interface PresentedToken {
  readonly token: string;
  readonly key: string;
  readonly via: 'bearer' | 'session';
  readonly origin: RequestOrigin;
}

export type TokenAuthenticator = ReturnType<typeof createTokenAuthenticator>;

/** Bearer tokens and session cookies, of the gateway and of configured issuers. */
export function createTokenAuthenticator(needs: {
  readonly rules: () => AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly log: Log;
  readonly persons: Pick<KnownPersons, 'note'>;
}) {
  const { rules, revocations, clock } = needs;
  const tokenLog = createTokenLog(needs.log);
  const cache = createVerifiedCache<VerifiedToken>({ entries: 10_000 });

  /** A store that is away ends no session. */
  const recheck = async (key: string, entry: VerifiedToken): Promise<boolean> => {
    const askedAt = clock.monotonic();
    const isRevoked = await inTime(
      revocations.isRevoked(entry.jti).catch(() => false),
      recheckLimit,
      () => false,
    );
    if (isRevoked) cache.delete(key);
    entry.checkedAt = askedAt;
    delete entry.recheck;
    return isRevoked;
  };

  return {
    /** No promise if the last check is less than a second old. */
    cached(key: string, origin: RequestOrigin): Authentication | Promise<Authentication> | undefined {
      const entry = cache.get(key);
      if (entry === undefined) return undefined;
      if (clock.now() >= entry.expiresAt) {
        cache.delete(key);
        return undefined;
      }
      const age = clock.monotonic() - entry.checkedAt;
      if (age < refreshAfter) return entry.authentication;
      entry.recheck ??= recheck(key, entry);
      if (age < trustedFor) return entry.authentication;
      return entry.recheck.then((isRevoked) => {
        if (!isRevoked) return entry.authentication;
        const { username, issuer = gatewayIssuer, subject = username } = entry.authentication.principal;
        tokenLog.refused(origin, { refused: 'revoked', issuer, subject });
        throw tokenInvalid();
      });
    },

    /** Rejects with 401, or 503 if the gateway cannot decide now. Logs why a token is refused. */
    async verify({ token, key, via, origin }: PresentedToken): Promise<Authentication> {
      const startedWith = rules();
      const verdict = await judgeToken(token, via, { ...needs, rules: startedWith });
      if ('refused' in verdict) {
        tokenLog.refused(origin, verdict);
        throw tokenInvalid();
      }
      // A reload meanwhile may have changed the basis of the verdict.
      if (startedWith === rules()) cache.set(key, { ...verdict });
      tokenLog.accepted(origin, { ...verdict.authentication, areGroupsLeftOut: verdict.areGroupsLeftOut === true }, startedWith);
      return verdict.authentication;
    },

    end: (jti: string) => cache.deleteWhere((entry) => entry.jti === jti),
    clear: () => cache.clear(),
  };
}

/** Characters of an unverified token that the log keeps. */
const maxNotedLength = 256;

interface AcceptedPerson {
  readonly principal: Principal;
  readonly areGroupsLeftOut: boolean;
}

/** Tells the operator what the caller does not learn of its token. */
export function createTokenLog(log: Log) {
  return {
    refused({ sourceAddress, requestId }: RequestOrigin, { refused: reason, ...said }: RefusedToken): void {
      const [issuer, subject] = [said.issuer?.slice(0, maxNotedLength), said.subject?.slice(0, maxNotedLength)];
      log.info('a token was refused', { requestId, sourceAddress, issuer, subject, reason });
    },
    /** Notes a valid token that gives no role, so that its caller gets 403, or whose groups the issuer left out. */
    accepted(
      { sourceAddress, requestId }: RequestOrigin,
      { principal: { issuer, subject, roles }, areGroupsLeftOut }: AcceptedPerson,
      { issuers }: AccessRules,
    ): void {
      if (areGroupsLeftOut)
        log.warn('an issuer left the groups out of a token: its person has none', { requestId, sourceAddress, issuer, subject });
      if (issuer === undefined || roles.length > 0) return;
      const reason = `no role: claim ${JSON.stringify(issuers.get(issuer)?.issuer.rolesClaim)}`;
      log.info('a token has no role', { requestId, sourceAddress, issuer, subject, reason });
    },
  };
}
