import { createHash, scryptSync } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AccessOptions, IssuerOptions } from './access-options.ts';
import { type Accounts, createAccounts } from './accounts.ts';
import { principalOfClaims } from './oidc-claims.ts';
import type { IssuerFetch } from './oidc-discovery.ts';
import { createIssuerKeys, type IssuerKeys } from './oidc-keys.ts';
import { createPersons, type Persons } from './persons.ts';
import { type CustomRole, issuerOfId, type Principal } from './principal.ts';

/** The rules of one configuration. A reload makes new rules; a call in progress ends under the rules with which it began. */
export interface AccessRules {
  /** Milliseconds. */
  readonly tokenLifetime: number;
  readonly accounts: Accounts;
  /** The names of the operator's own roles. */
  readonly customRoles: readonly CustomRole[];
  /** The key is the issuer. */
  readonly issuers: ReadonlyMap<string, TrustedIssuer>;
  readonly persons: Persons;
  /** Milliseconds: the longest lifetime of a token. */
  readonly longestToken: number;
  /** The person that claims of an issuer describe, with the roles of its groups. Undefined for a name that is not usable. */
  principalOf(claims: Readonly<Record<string, unknown>>, issuer: IssuerOptions): Principal | undefined;
  /** See `Principals`. */
  rightsOf(principal: Principal): string;
  readonly isBlocked: (id: string) => boolean;
  /** Whether the principal is blocked or was removed. A person is removed with its issuer. */
  readonly isGone: (id: string) => boolean;
}

export interface TrustedIssuer {
  readonly issuer: IssuerOptions;
  readonly keys: IssuerKeys;
  /** Changes with what its sessions depend on. A session with another fingerprint was issued before that change. */
  readonly fingerprint: string;
}

interface AccessRulesOptions {
  readonly config: AccessOptions;
  readonly fetch: IssuerFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** The rules before a reload. An issuer that they have too keeps its fetched keys. */
  readonly previous?: AccessRules;
}

/** Throws an Error if a hash of the configuration cannot be read. */
export function createAccessRules({ config, fetch, clock, log, previous }: AccessRulesOptions): AccessRules {
  const issuers = new Map<string, TrustedIssuer>();
  for (const issuer of config.oidc) {
    const known = previous?.issuers.get(issuer.issuer);
    const keys = known?.keys ?? createIssuerKeys({ issuer: issuer.issuer, fetch, clock, log });
    const fingerprint = known !== undefined && sameBasis(known.issuer, issuer) ? known.fingerprint : fingerprintOf(issuer);
    issuers.set(issuer.issuer, { issuer, keys, fingerprint });
  }
  const { tokenLifetime, groupRoles, clients } = config;
  const accounts = createAccounts(config);
  const customRoles = config.roles.map(({ name }) => name);
  const blocked = new Set(config.blocked);
  const isTaken = (name: string): boolean => accounts.isTaken(name);
  const isBlocked = (id: string): boolean => blocked.has(id);
  return {
    tokenLifetime,
    accounts,
    customRoles,
    issuers,
    persons: createPersons(config.persons),
    longestToken: Math.max(tokenLifetime, ...clients.map((client) => client.tokenLifetime ?? 0)),
    principalOf: (claims, issuer) => principalOfClaims(claims, { ...issuer, groupRoles, customRoles, isTaken }),
    rightsOf({ roles, groups }) {
      const own = config.roles.filter(({ name }) => roles.includes(name));
      return JSON.stringify([roles, groups, own]);
    },
    isBlocked,
    isGone(id) {
      if (isBlocked(id)) return true;
      const issuer = issuerOfId(id);
      return issuer === undefined ? accounts.named(id) === undefined : !issuers.has(issuer);
    },
  };
}

/** What the sessions of an issuer depend on. */
function basisOf({ issuer, consoleClientId, consoleClientSecret, rolesClaim, groupsClaim }: IssuerOptions) {
  return [consoleClientSecret?.reveal(), issuer, consoleClientId, rolesClaim, groupsClaim] as const;
}

function sameBasis(one: IssuerOptions, other: IssuerOptions): boolean {
  return JSON.stringify(basisOf(one)) === JSON.stringify(basisOf(other));
}

/** Sessions have it in them, and their holders can read it: so a guess of the secret takes long. */
function fingerprintOf(issuer: IssuerOptions): string {
  const [secret, ...decisive] = basisOf(issuer);
  const slow = secret === undefined ? [] : [scryptSync(secret, JSON.stringify(decisive), 32).toString('base64url')];
  return createHash('sha256')
    .update(JSON.stringify([...decisive, ...slow]))
    .digest('base64url')
    .slice(0, 22);
}
