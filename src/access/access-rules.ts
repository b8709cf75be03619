import { createHash, scryptSync } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { createAccounts } from './accounts.ts';
import { principalOfClaims } from './issuers/oidc-claims.ts';
import { createIssuerKeys, type IssuerFetch, type IssuerKeys } from './issuers/oidc-discovery.ts';
import { createPersons } from './persons.ts';
import { issuerOfId, type Principal } from './principal.ts';
import type { AccessOptions, IssuerOptions } from './rights/access-options.ts';

export interface TrustedIssuer {
  readonly issuer: IssuerOptions;
  readonly keys: IssuerKeys;
  /** Changes with what its sessions depend on. */
  readonly fingerprint: string;
}

export type AccessRules = ReturnType<typeof createAccessRules>;

/**
 * Of one configuration. A call in progress ends under the rules with which it began. Throws an Error if a hash of the configuration cannot
 * be read.
 */
export function createAccessRules({
  config,
  fetch,
  clock,
  log,
  previous,
}: {
  readonly config: AccessOptions;
  readonly fetch: IssuerFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** The rules before a reload: their issuers keep their fetched keys. */
  readonly previous?: { readonly issuers: ReadonlyMap<string, TrustedIssuer> };
}) {
  const issuers: ReadonlyMap<string, TrustedIssuer> = new Map(
    config.oidc.map((issuer) => {
      const known = previous?.issuers.get(issuer.issuer);
      const keys = known?.keys ?? createIssuerKeys({ issuer: issuer.issuer, fetch, clock, log });
      const isSame = known !== undefined && JSON.stringify(basisOf(known.issuer)) === JSON.stringify(basisOf(issuer));
      return [issuer.issuer, { issuer, keys, fingerprint: isSame ? known.fingerprint : fingerprintOf(issuer) }];
    }),
  );
  const { tokenLifetime, groupRoles, clients } = config;
  const accounts = createAccounts(config);
  const customRoles = config.roles.map(({ name }) => name);
  const blocked = new Set(config.blocked);
  return {
    /** Milliseconds. */
    tokenLifetime,
    accounts,
    customRoles,
    /** The key is the issuer. */
    issuers,
    persons: createPersons(config.persons),
    nameClaimsOf: (issuer: string): readonly string[] => config.nameClaims?.[issuer] ?? [],
    /** Milliseconds. */
    maxTokenLifetime: Math.max(tokenLifetime, ...clients.map((client) => client.tokenLifetime ?? 0)),
    /** Undefined for a name that is not usable. */
    principalOf: (claims: Readonly<Record<string, unknown>>, issuer: IssuerOptions) =>
      principalOfClaims(claims, { ...issuer, groupRoles, customRoles, isTaken: accounts.isTaken }),
    rightsOf: ({ roles, groups }: Principal) =>
      JSON.stringify([roles, groups, config.roles.filter(({ name }) => roles.includes(name))]),
    isBlocked: (id: string) => blocked.has(id),
    /** True if the principal is blocked or was removed. A person is removed with its issuer. */
    isGone: (id: string): boolean => {
      if (blocked.has(id)) return true;
      const issuer = issuerOfId(id);
      return issuer === undefined ? accounts.named(id) === undefined : !issuers.has(issuer);
    },
  };
}

/** What the sessions of an issuer depend on. */
function basisOf({ issuer, consoleClientId, consoleClientSecret, rolesClaim, groupsClaim }: IssuerOptions) {
  return [consoleClientSecret?.reveal(), issuer, consoleClientId, rolesClaim, groupsClaim] as const;
}

/** Holders of sessions can read it, so a guess of the secret takes long. */
function fingerprintOf(issuer: IssuerOptions): string {
  const [secret, ...decisive] = basisOf(issuer);
  const slow = secret === undefined ? [] : [scryptSync(secret, JSON.stringify(decisive), 32).toString('base64url')];
  return createHash('sha256')
    .update(JSON.stringify([...decisive, ...slow]))
    .digest('base64url')
    .slice(0, 22);
}
