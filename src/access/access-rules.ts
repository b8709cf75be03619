import { createHash } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AccessOptions, IssuerOptions } from './access-options.ts';
import { type Accounts, createAccounts } from './accounts.ts';
import type { IssuerFetch } from './oidc-discovery.ts';
import { createIssuerKeys, type IssuerKeys } from './oidc-keys.ts';
import type { CustomRole } from './principal.ts';

/** The rules of one configuration. A reload makes new rules; a call in progress ends under the rules with which it began. */
export interface AccessRules {
  /** Milliseconds. */
  readonly tokenLifetime: number;
  readonly accounts: Accounts;
  /** The names of the operator's own roles. */
  readonly customRoles: readonly CustomRole[];
  /** The key is the issuer. */
  readonly issuers: ReadonlyMap<string, TrustedIssuer>;
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
    issuers.set(issuer.issuer, { issuer, keys, fingerprint: fingerprintOf(issuer) });
  }
  return {
    tokenLifetime: config.tokenLifetime,
    accounts: createAccounts(config),
    customRoles: config.roles.map(({ name }) => name),
    issuers,
  };
}

function fingerprintOf({ issuer, consoleClientId, rolesClaim, groupsClaim }: IssuerOptions): string {
  const decisive = JSON.stringify([issuer, consoleClientId, rolesClaim, groupsClaim]);
  return createHash('sha256').update(decisive).digest('base64url').slice(0, 22);
}
