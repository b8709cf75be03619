import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { AccessOptions } from './access-options.ts';
import { foldedName } from './folded-name.ts';
import { rolesOfGroups } from './oidc-claims.ts';
import { defaultHashParameters, type HashParameters, type PasswordHash, parsePasswordHash } from './password-hash.ts';
import type { Principal, RoleName } from './principal.ts';

export type AccountKind = 'user' | 'client';

/** A configured user or client. */
export interface Account {
  readonly kind: AccountKind;
  readonly principal: Principal;
  readonly hash: PasswordHash;
  /** Changes with the password. A token with another fingerprint was issued before the password changed. */
  readonly fingerprint: string;
  /** Milliseconds for which a token or session of it is valid. */
  readonly tokenLifetime: number;
}

/** The accounts of one configuration. `access.blocked` blocks some of them: only `configured`, `isTaken` and `decoy` know these. */
export interface Accounts {
  find(kind: AccountKind, name: string): Account | undefined;
  configured(kind: AccountKind, name: string): Account | undefined;
  /** The user or client of that name: users and clients share one set of names. */
  named(name: string): Account | undefined;
  /** All users and clients that are not blocked. */
  principals(): readonly Principal[];
  /** Whether a user or client has that name, or one that looks like it: without regard to case, width and white space at the ends. */
  isTaken(name: string): boolean;
  /**
   * A hash that no password matches. The caller computes it for a name that is not configured, so that an unknown name takes as
   * long as a known one.
   */
  decoy(kind: AccountKind, name: string): PasswordHash;
}

/**
 * Throws an Error that names the account if a hash cannot be read. The check of the configuration (`config/`) finds such a hash
 * first.
 */
export function createAccounts(config: AccessOptions): Accounts {
  const { tokenLifetime, groupRoles } = config;
  const users = new Map(
    config.users.map((user) => {
      const { username: name, passwordHash: hash } = user;
      return [name, accountOf({ kind: 'user', name, hash, tokenLifetime, ...grantsOf(user, groupRoles) })];
    }),
  );
  const clients = new Map(
    config.clients.map((client) => {
      const { clientId: name, secretHash: hash } = client;
      return [name, accountOf({ kind: 'client', name, hash, tokenLifetime, ...client, ...grantsOf(client, groupRoles) })];
    }),
  );
  const byKind = { user: users, client: clients };
  const blocked = new Set(config.blocked);
  const unlessBlocked = (account: Account | undefined): Account | undefined =>
    account === undefined || blocked.has(account.principal.id) ? undefined : account;
  const looks = new Set([...users.keys(), ...clients.keys()].map(foldedName));
  const decoyFor = { user: createDecoys(users), client: createDecoys(clients) };
  return {
    find: (kind, name) => unlessBlocked(byKind[kind].get(name)),
    configured: (kind, name) => byKind[kind].get(name),
    named: (name) => unlessBlocked(users.get(name) ?? clients.get(name)),
    principals: () =>
      [...users.values(), ...clients.values()].map(({ principal }) => principal).filter(({ id }) => !blocked.has(id)),
    isTaken: (name) => looks.has(foldedName(name)),
    decoy: (kind, name) => decoyFor[kind](name),
  };
}

interface Grants {
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
}

/** What the configuration gives an account, and what its groups give it. */
function grantsOf({ roles, groups }: Grants, groupRoles: AccessOptions['groupRoles']): Grants {
  return { roles: [...new Set([...roles, ...rolesOfGroups(groups, groupRoles)])], groups };
}

function accountOf({
  kind,
  name,
  hash: hashText,
  roles,
  groups,
  tokenLifetime,
}: Grants & Pick<Account, 'kind' | 'tokenLifetime'> & { readonly name: string; readonly hash: string }): Account {
  const hash = parsePasswordHash(hashText);
  if (hash === undefined) throw new Error(`The hash of ${kind} ${name} is not an argon2id PHC string.`);
  const fingerprint = createHash('sha256').update(hashText).digest('base64url').slice(0, 22);
  return { kind, principal: Object.freeze({ id: name, username: name, roles, groups }), hash, fingerprint, tokenLifetime };
}

/**
 * Hashes of the configuration may differ in cost, and the time of a failed login would then show whether the name exists. So a
 * keyed hash of an unknown name picks the cost of one of the accounts. The costs of unknown names therefore have the proportions
 * of the known ones, and one name always has the same cost. The key is derived from the configured hashes: outsiders do not know
 * it, and it is the same on every gateway and after a restart.
 */
function createDecoys(accounts: ReadonlyMap<string, Account>): (name: string) => PasswordHash {
  const costs: readonly HashParameters[] = [...accounts.values()].map((account) => account.hash);
  const digest = createHash('sha256');
  for (const account of accounts.values()) digest.update(account.hash.tag);
  const key = digest.digest();
  const salt = randomBytes(16);
  const tag = randomBytes(32);
  return (name) => {
    const pick = createHmac('sha256', key).update(name).digest().readUInt32BE(0);
    const { memory, passes, parallelism } = costs[pick % Math.max(1, costs.length)] ?? defaultHashParameters;
    return { memory, passes, parallelism, salt, tag };
  };
}
