import type { JWTPayload } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { IssuerOptions } from './access-options.ts';
import type { AccessRules } from './access-rules.ts';
import type { KnownPerson, KnownPersonStore } from './known-person-store.ts';
import { areNamesLeftOut, namesIn } from './oidc-claims.ts';
import type { PrincipalNow } from './people.ts';
import { issuerOfId, type Principal } from './principal.ts';
import { createVerifiedCache } from './verified-cache.ts';

/**
 * The persons of issuers between their logins: at 02:00 no token is there that says what the owner of a schedule may do. The roles and
 * groups of the last token count for `access.oidc[].remember` after it.
 */
export interface KnownPersons {
  /**
   * Keeps what a verified token says of its person. A token without `iat`, and one whose groups the issuer left out, changes nothing. Never
   * rejects: a store that is away refuses no token.
   */
  note(issuer: IssuerOptions, principal: Principal, claims: JWTPayload): Promise<void>;
  /** Rejects with `store-unavailable`. */
  readonly find: PrincipalNow;
  /** At most a thousand, those seen last. Rejects with `store-unavailable`. */
  all(): Promise<readonly Principal[]>;
  purge(): Promise<void>;
}

interface KnownPersonsOptions {
  readonly rules: () => AccessRules;
  readonly store: KnownPersonStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly isShort: () => boolean;
}

export function createKnownPersons({ rules, store, clock, log, isShort }: KnownPersonsOptions): KnownPersons {
  /** By id: the time of the newest token that this process has kept. */
  const kept = createVerifiedCache<number>({ entries: 10_000 });
  const principalNow = ({ id, seenAt, claims: { readFrom, ...claims } }: KnownPerson): Principal | undefined => {
    const issuer = trusted(rules(), id);
    if (issuer === undefined || clock.now() - seenAt > issuer.remember) return undefined;
    if (readFrom[0] !== issuer.rolesClaim || readFrom[1] !== issuer.groupsClaim) return undefined;
    return rules().principalOf(claims, { ...issuer, rolesClaim: 'roles', groupsClaim: 'groups' });
  };
  return {
    async note(issuer, { id, subject = '' }, claims) {
      const { rolesClaim, groupsClaim } = issuer;
      if (claims.iat === undefined || areNamesLeftOut(claims, issuer) || isShort()) return;
      // The clock of an issuer may be ahead; a time in the future would outlast the tokens after it.
      const seenAt = Math.min(claims.iat * 1_000, clock.now());
      if (seenAt <= (kept.get(id) ?? -Infinity)) return;
      const { preferred_username: preferred } = claims;
      const remembered = {
        sub: subject,
        ...(typeof preferred === 'string' && { preferred_username: preferred }),
        roles: namesIn(claims, rolesClaim),
        groups: namesIn(claims, groupsClaim),
        readFrom: [rolesClaim, groupsClaim],
      } as const;
      try {
        await store.keep({ id, seenAt, claims: remembered });
        kept.set(id, seenAt);
      } catch {
        log.warn('the roles and groups of a token could not be kept', { principal: id });
      }
    },
    async find(id) {
      if (trusted(rules(), id) === undefined) return undefined;
      const known = await store.find(id);
      return known && principalNow(known);
    },
    async all() {
      if (rules().issuers.size === 0) return [];
      return (await store.list(listedAtMost)).flatMap((known) => principalNow(known) ?? []);
    },
    async purge() {
      const longest = Math.max(0, ...[...rules().issuers.values()].map(({ issuer }) => issuer.remember));
      await store.purge(clock.now() - longest);
    },
  };
}

const listedAtMost = 1_000;

/** The issuer of the person; undefined where the person is gone. */
function trusted({ issuers, isGone }: AccessRules, id: string): IssuerOptions | undefined {
  return isGone(id) ? undefined : issuers.get(issuerOfId(id) ?? '')?.issuer;
}
