import { createHash, createHmac, randomBytes } from 'node:crypto';
import { rolesOfGroups } from './issuers/oidc-claims.ts';
import { defaultHashParameters, type HashParameters, type PasswordHash, parsePasswordHash } from './passwords/password-hash.ts';
import { foldName } from './persons.ts';
import type { Principal } from './principal.ts';
import type { AccessOptions, UserOptions } from './rights/access-options.ts';

export type AccountKind = 'user' | 'client';

export interface Account {
  readonly kind: AccountKind;
  readonly principal: Principal;
  readonly hash: PasswordHash;
  /** Changes with the password. */
  readonly fingerprint: string;
  /** Milliseconds. */
  readonly tokenLifetime: number;
}

export type Accounts = ReturnType<typeof createAccounts>;

/**
 * `access.blocked` blocks some: only `configured`, `isTaken` and `decoy` know these. Throws an Error for a hash that cannot be read; the
 * check of the configuration finds such a hash first.
 */
export function createAccounts({ users, clients, groupRoles, tokenLifetime, blocked: blockedIds }: AccessOptions) {
  const accounts = {
    user: new Map(
      users.map(({ username: name, passwordHash: hash, ...grants }) => [
        name,
        accountOf('user', { name, hash, tokenLifetime, ...grants }),
      ]),
    ),
    client: new Map(
      clients.map(({ clientId: name, secretHash: hash, ...grants }) => [
        name,
        accountOf('client', { name, hash, tokenLifetime, ...grants }),
      ]),
    ),
  };
  function accountOf(
    kind: AccountKind,
    given: Pick<UserOptions, 'roles' | 'groups'> & Pick<Account, 'tokenLifetime'> & Record<'name' | 'hash', string>,
  ): Account {
    const { name, hash: hashText, groups } = given;
    const hash = parsePasswordHash(hashText);
    if (hash === undefined) throw new Error(`The hash of ${kind} ${name} is not an argon2id PHC string.`);
    const fingerprint = createHash('sha256').update(hashText).digest('base64url').slice(0, 22);
    const roles = [...new Set([...given.roles, ...rolesOfGroups(groups, groupRoles)])];
    const principal: Principal = Object.freeze({ id: name, username: name, roles, groups });
    return { kind, principal, hash, fingerprint, tokenLifetime: given.tokenLifetime };
  }
  const blocked = new Set(blockedIds);
  const unlessBlocked = (account: Account | undefined): Account | undefined =>
    account === undefined || blocked.has(account.principal.id) ? undefined : account;
  const looks = new Set([...accounts.user.keys(), ...accounts.client.keys()].map(foldName));
  const decoys = { user: createDecoys(accounts.user), client: createDecoys(accounts.client) };
  return {
    find: (kind: AccountKind, name: string) => unlessBlocked(accounts[kind].get(name)),
    configured: (kind: AccountKind, name: string) => accounts[kind].get(name),
    /** Users and clients share one set of names. */
    named: (name: string) => unlessBlocked(accounts.user.get(name) ?? accounts.client.get(name)),
    principals: (): readonly Principal[] =>
      [...accounts.user.values(), ...accounts.client.values()].flatMap((account) => unlessBlocked(account)?.principal ?? []),
    /** True also for a name that looks like it: without regard to case, width and white space at the ends. */
    isTaken: (name: string) => looks.has(foldName(name)),
    /** A hash that no password matches, for a name that is not configured: it takes as long as a known one. */
    decoy: (kind: AccountKind, name: string) => decoys[kind](name),
  };
}

/**
 * Hashes may differ in cost, and the time of a failed login would then show whether the name exists. So a keyed hash of an
 * unknown name picks the cost of one account. One name always has the same cost, and unknown names have the proportions of known
 * ones. The key comes from the configured hashes, which outsiders do not know, and is the same on every gateway and after a
 * restart.
 */
function createDecoys(accounts: ReadonlyMap<string, Account>): (name: string) => PasswordHash {
  const costs: readonly HashParameters[] = [...accounts.values()].map((account) => account.hash);
  const digest = createHash('sha256');
  for (const { hash } of accounts.values()) digest.update(hash.tag);
  const key = digest.digest();
  const salt = randomBytes(16);
  const tag = randomBytes(32);
  return (name) => {
    const pick = createHmac('sha256', key).update(name).digest().readUInt32BE(0);
    const { memory, passes, parallelism } = costs[pick % Math.max(1, costs.length)] ?? defaultHashParameters;
    return { memory, passes, parallelism, salt, tag };
  };
}
