import type { JWTPayload } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AccessRules } from '../access-rules.ts';
import { issuerOfId, type Principal } from '../principal.ts';
import type { IssuerOptions } from '../rights/access-options.ts';
import { createVerifiedCache } from '../tokens/verified-cache.ts';
import type { KnownPerson, KnownPersonStore } from './known-person-store.ts';
import { areNamesLeftOut, namesIn } from './oidc-claims.ts';

const maxListed = 1_000;

export type KnownPersons = ReturnType<typeof createKnownPersons>;

/**
 * Persons of issuers between their logins: at 02:00 no token says what the owner of a schedule may do. The last token's roles and groups
 * count for `access.oidc[].remember`.
 */
export function createKnownPersons({
  rules,
  store,
  clock,
  log,
  isShort,
}: {
  readonly rules: () => AccessRules;
  readonly store: KnownPersonStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly isShort: () => boolean;
}) {
  /** By id: the newest token that this process has kept, and the claims that it kept of it. */
  const kept = createVerifiedCache<{ readonly seenAt: number; readonly wanted: string }>({ entries: 10_000 });
  const principalNow = ({ id, seenAt, claims: { readFrom, names: _names, ...claims } }: KnownPerson): Principal | undefined => {
    const issuer = findTrusted(rules(), id);
    if (issuer === undefined || clock.now() - seenAt > issuer.remember) return undefined;
    if (readFrom[0] !== issuer.rolesClaim || readFrom[1] !== issuer.groupsClaim) return undefined;
    return rules().principalOf(claims, { ...issuer, rolesClaim: 'roles', groupsClaim: 'groups' });
  };
  return {
    /**
     * Keeps what a verified token says. One without `iat`, or whose groups the issuer left out, changes nothing. Never rejects: a store
     * that is away refuses no token.
     */
    async note(issuer: IssuerOptions, { id, subject = '' }: Principal, claims: JWTPayload): Promise<void> {
      if (claims.iat === undefined || areNamesLeftOut(claims, issuer) || isShort()) return;
      // The clock of an issuer may be ahead; a time in the future would outlast later tokens.
      const seenAt = Math.min(claims.iat * 1_000, clock.now());
      const wanted = rules().nameClaimsOf(issuer.issuer);
      const before = kept.get(id);
      if (before !== undefined && seenAt <= before.seenAt && before.wanted === wanted.join()) return;
      try {
        await store.keep({ id, seenAt, claims: rememberedOf(claims, { ...issuer, subject, wanted }) });
        kept.set(id, { seenAt, wanted: wanted.join() });
      } catch {
        log.warn('the roles and groups of a token could not be kept', { principal: id });
      }
    },
    /** Rejects with `store-unavailable`. */
    async find(id: string) {
      const known = findTrusted(rules(), id) && (await store.find(id));
      return known && principalNow(known);
    },
    ...createNames(rules, { store, principalNow }),
    /** At most a thousand, those seen last. Rejects with `store-unavailable`. */
    async all(): Promise<readonly Principal[]> {
      if (rules().issuers.size === 0) return [];
      return (await store.list(maxListed)).flatMap((known) => principalNow(known) ?? []);
    },
    async purge() {
      const longest = Math.max(0, ...[...rules().issuers.values()].map(({ issuer }) => issuer.remember));
      await store.purge(clock.now() - longest);
    },
  };
}

/** What the persons are called at orchestrators. Each method rejects with `store-unavailable`. */
function createNames(
  rules: () => AccessRules,
  {
    store,
    principalNow,
  }: { readonly store: KnownPersonStore; readonly principalNow: (person: KnownPerson) => Principal | undefined },
) {
  return {
    /** A claim of the last token that is a name at an orchestrator. */
    async nameOf(id: string, claim: string): Promise<string | undefined> {
      const known = findTrusted(rules(), id) && (await store.find(id));
      return known && principalNow(known) && known.claims.names?.[claim];
    },
    /** The ids of this issuer's persons with that name. */
    async idsNamed(issuer: string, claim: string, name: string): Promise<readonly string[]> {
      const known = await store.withText(name, maxListed);
      return known
        .filter((person) => issuerOfId(person.id) === issuer && principalNow(person) && person.claims.names?.[claim] === name)
        .map(({ id }) => id);
    },
  };
}

function rememberedOf(
  claims: JWTPayload,
  {
    rolesClaim,
    groupsClaim,
    subject,
    wanted,
  }: Pick<IssuerOptions, 'rolesClaim' | 'groupsClaim'> & { readonly subject: string; readonly wanted: readonly string[] },
): KnownPerson['claims'] {
  const { preferred_username: preferred } = claims;
  return {
    sub: subject,
    ...(typeof preferred === 'string' && { preferred_username: preferred }),
    roles: namesIn(claims, rolesClaim),
    groups: namesIn(claims, groupsClaim),
    ...(wanted.length > 0 && { names: textsIn(claims, wanted) }),
    readFrom: [rolesClaim, groupsClaim],
  };
}

function textsIn(claims: JWTPayload, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = claims[name];
      return typeof value === 'string' && value.length <= 256 ? [[name, value]] : [];
    }),
  );
}

/** Undefined: the person is gone. */
function findTrusted({ issuers, isGone }: AccessRules, id: string): IssuerOptions | undefined {
  return isGone(id) ? undefined : issuers.get(issuerOfId(id) ?? '')?.issuer;
}
